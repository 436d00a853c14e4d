//! The differential corpus: every file of `tests/corpus/` is one test.
//!
//! A file gives an expression, layouts for each tensor and small data. Every kernel for it (each
//! combination of layouts, each loop order, the automatic choice and each proved template for each
//! find, both index widths, all value types) must give the result of the dense interpreter, compiled
//! and in the interpreter of code, which tests every access. All kernels of a file are compiled as modules of one library, with warnings denied and debug
//! assertions on, so that every access that was proved in bounds is checked.

#[path = "corpus_support/mod.rs"]
mod support;

use std::path::Path;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let mut files: Vec<_> = std::fs::read_dir("tests/corpus")
        .expect("tests run in the root of the package")
        .map(|f| f.expect("a readable folder").path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "the corpus is gone");
    let trials = files.into_iter().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_");
        Trial::test(name, move || check(&path))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn check(path: &Path) -> Result<(), libtest_mimic::Failed> {
    let case = support::Case::read(path)?;
    let kernels = support::kernels(&case)?;
    // SISKIN_SHOW="A=csr x=sparse" prints the kernels whose label has that part.
    if let Ok(part) = std::env::var("SISKIN_SHOW") {
        for made in kernels.iter().filter(|k| k.label.contains(&part)) {
            println!("// {}\n{}", made.label, made.text);
        }
    }
    let library = support::Library::compile(&kernels, support::Face::Entry)?;
    let runs = support::compare(&case, &kernels, &library)?;
    if runs < case.data.len() * kernels.len() / 2 {
        return Err(format!("only {runs} runs of {} kernels", kernels.len()).into());
    }
    println!("{}: {} kernels, {runs} runs", path.display(), kernels.len());
    Ok(())
}
