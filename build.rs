//! Lists the shipped data files (layouts, templates, operators) into a table that
//! `src/embedded.rs` includes. The sources therefore name no file: adding data needs no code.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders whose files become part of the binary.
const FOLDERS: [&str; 3] = ["layouts", "operators", "templates"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut files = Vec::new();
    for folder in FOLDERS {
        // A folder that is missing would be taken as changed by every build.
        println!("cargo:rerun-if-changed={folder}");
        collect(&root, folder, &mut files)?;
    }
    files.sort();

    let mut table = String::from("static FILES: &[(&str, &str)] = &[\n");
    for file in &files {
        let path = root.join(file);
        table.push_str(&format!("    ({file:?}, include_str!({path:?})),\n"));
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded_files.rs"), table)
}

/// Relative paths with `/`, on every platform.
fn collect(root: &Path, folder: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        if name.starts_with('.') {
            continue;
        }
        let path = format!("{folder}/{name}");
        println!("cargo:rerun-if-changed={path}");
        if entry.path().is_dir() {
            collect(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
