//! Rust source compiled with the flags of generated kernels, and loaded: hand-written kernels get
//! the same compiler and the same target as generated ones.

use std::path::Path;
use std::process::Command;

use libloading::Library;

/// Compiles `source` to a library in `folder` and loads it. The library is never unloaded.
pub fn load(source: &str, name: &str, folder: &Path) -> &'static Library {
    let file = folder.join(format!("{name}.rs"));
    let library = folder.join(format!("lib{name}.so"));
    std::fs::write(&file, source).expect("a writable folder");
    let status = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=cdylib", "-O", "-Aunused"])
        .args(["-Ctarget-cpu=native", "-Cpanic=abort", "-Ccodegen-units=1"])
        // Else where a loop begins depends on the length of the file's name: a quarter of the time.
        .arg("-Cllvm-args=-align-loops=64")
        .arg("-o")
        .arg(&library)
        .arg(&file)
        .status()
        .expect("rustc starts");
    assert!(status.success(), "rustc refused {name}");
    // The source is ours: loading it runs no foreign code.
    Box::leak(Box::new(unsafe { Library::new(&library) }.expect("a loadable library")))
}
