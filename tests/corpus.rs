//! The differential corpus: every file of `tests/corpus/` is one test, or as many as it has parts.
//!
//! A file gives an expression, layouts for each tensor and small data. Every kernel for it (each
//! combination of layouts, each loop order, the automatic choice and each proved template for each
//! find, both index widths, all value types) must give the result of the dense interpreter in the
//! interpreter of code, which tests every access. Kernels of a test are compiled as modules of one library, with
//! warnings denied and debug assertions on, so that every access that was proved in bounds is checked, and must give
//! the same: all of them where they are few, else every third (types take turns by four). Where a file has many
//! combinations of layouts, they take turns with merges, looplets and ways of gathering (`SISKIN_CORPUS=all`: nothing
//! is left out). No combination of a file may be refused.

#[path = "corpus_support/mod.rs"]
mod support;

use std::path::Path;

use libtest_mimic::{Arguments, Trial};

/// So many kernels are compiled in no time.
const FEW: usize = 40;

fn main() {
    let arguments = Arguments::from_args();
    let mut files: Vec<_> = std::fs::read_dir("tests/corpus")
        .expect("tests run in the root of the package")
        .map(|f| f.expect("a readable folder").path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "the corpus is gone");
    let mut trials = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_");
        match support::Case::read(&path) {
            Ok(case) => {
                for part in 0..case.parts {
                    let path = path.clone();
                    let name = match case.parts {
                        1 => name.clone(),
                        parts => format!("{name}_{}_of_{parts}", part + 1),
                    };
                    trials.push(Trial::test(name, move || check(&path, part)));
                }
            }
            Err(e) => trials.push(Trial::test(name, || Err(e.into()))),
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn check(path: &Path, part: usize) -> Result<(), libtest_mimic::Failed> {
    let case = support::Case::read(path)?;
    let kernels = support::kernels_of_part(&case, part)?;
    // SISKIN_SHOW="A=csr x=sparse" prints the kernels whose label has that part.
    if let Ok(part) = std::env::var("SISKIN_SHOW") {
        for made in kernels.iter().filter(|k| k.label.contains(&part)) {
            println!("// {}\n{}", made.label, made.text);
        }
    }
    let has = match kernels.len() {
        few if few <= FEW => vec![true; few],
        many => support::some_of(many),
    };
    let library = support::Library::of_some(&kernels, has, support::Face::Entry)?;
    let runs = support::compare(&case, &kernels, &library)?;
    if runs < case.data.len() * kernels.len() / 2 {
        return Err(format!("only {runs} runs of {} kernels", kernels.len()).into());
    }
    println!("{}: {} kernels, {runs} runs", path.display(), kernels.len());
    Ok(())
}
