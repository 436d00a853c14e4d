//! The user's Rust compiler.
//!
//! In: the text of a module. Out: a dynamic library in a temporary folder, or the compiler's own
//! words in a diagnostic.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::load::BuiltFile;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::module::Source;
use crate::temporary;

/// What every kernel is compiled with. One codegen unit compiles a single small function fastest
/// and lets it be optimised as a whole; symbols would only fill the cache.
const FLAGS: &[&str] = &[
    "--crate-type=cdylib",
    "--crate-name=siskin_kernel",
    "--edition=2024",
    "-O",
    "-Ctarget-cpu=native",
    "-Cpanic=abort",
    "-Ccodegen-units=1",
    "-Cstrip=symbols",
    "--cap-lints=allow",
    "--color=never",
];

/// Loops begin at multiples of so many bytes, lines of memory of the processors that there are; LLVM's own option,
/// which a later one may not have.
const ALIGNED: &str = "-Cllvm-args=-align-loops=64";

/// What LLVM says to an option that it does not have.
const UNKNOWN_OPTION: &str = "Unknown command line argument";

/// What the module is called while it is compiled.
const SOURCE: &str = "kernel.rs";

/// Lines of the compiler's output that a diagnostic shows.
const SHOWN_LINES: usize = 30;

/// A `rustc` that answered.
#[derive(Clone, Debug)]
pub struct Rustc {
    path: PathBuf,
    /// What it says of itself: release, commit, host.
    version: String,
}

impl Rustc {
    /// `$RUSTC`, or `rustc` on the path.
    ///
    /// # Errors
    /// [`Code::Rustc`] if it cannot be run.
    pub fn find() -> Result<Rustc> {
        let path = std::env::var_os("RUSTC").filter(|p| !p.is_empty());
        Rustc::at(Path::new(&path.unwrap_or_else(|| OsString::from("rustc"))))
    }

    /// The compiler at `path`.
    ///
    /// # Errors
    /// [`Code::Rustc`] if it cannot be run.
    pub fn at(path: &Path) -> Result<Rustc> {
        let output = Command::new(path).arg("-vV").stdin(Stdio::null()).output().map_err(|e| {
            unusable(path, &e.to_string())
                .help("install Rust (https://rustup.rs), or set RUSTC to the path of a `rustc`")
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(with_output(unusable(path, &output.status.to_string()), &said)
                .help("`rustc -vV` should print its version; check the Rust installation"));
        }
        let version = String::from_utf8_lossy(&output.stdout).trim().to_string();
        Ok(Rustc { path: path.to_path_buf(), version })
    }

    /// Everything that decides the machine code of a module: the compiler, its flags, the processor
    /// that `native` stands for, and the text itself.
    pub fn identity(&self, source: Source<'_>) -> String {
        let flags = flags(source.aligned).join(" ");
        format!("{}\n{flags}\n{}\n\n{}", self.version, processor(), source.text)
    }

    /// Compiles a module into a library in a new temporary folder.
    ///
    /// # Errors
    /// [`Code::RefusedModule`] if the text is wrong, [`Code::Rustc`] if the compiler fails for another
    /// reason, [`Code::Io`] if there is no room for the text.
    pub fn compile(&self, source: Source<'_>) -> Result<BuiltFile> {
        let io = |what: &str, error: std::io::Error| {
            Diagnostic::new(Code::Io, format!("cannot {what}: {error}"))
                .help("check that the folder for temporary files (TMPDIR) has space")
        };
        let make = || tempfile::Builder::new().prefix("siskin-").tempdir();
        let (folder, in_use) = temporary::create(make, tempfile::TempDir::path)
            .map_err(|e| io("make a temporary folder", e))?;
        fs::write(folder.path().join(SOURCE), source.text)
            .map_err(|e| io("write the module for rustc", e))?;
        let library = format!("kernel.{}", std::env::consts::DLL_EXTENSION);
        // Run inside the folder, so that no path of it gets into the library: same text, same bytes.
        let run = |aligned: bool| {
            Command::new(&self.path)
                .args(flags(aligned))
                .args(["-o", &library, SOURCE])
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .output()
                .map_err(|e| unusable(&self.path, &e.to_string()))
        };
        let mut output = run(source.aligned)?;
        let said = String::from_utf8_lossy(&output.stderr);
        if source.aligned && !output.status.success() && said.contains(UNKNOWN_OPTION) {
            output = run(false)?;
        }
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let (code, help) = match blames_the_text(&said) {
                true => (
                    Code::RefusedModule,
                    "this is a defect of siskin: please report it; if this rustc is older than 1.88, \
                     a newer one may accept the module",
                ),
                false => (
                    Code::Rustc,
                    "the module is not to blame: see what rustc lacks (a linker, memory, space on \
                     the disk)",
                ),
            };
            let message =
                format!("`{}` did not compile the kernel ({})", self.path.display(), output.status);
            let version = self.version.lines().next().unwrap_or_default();
            let failed = Diagnostic::new(code, message).note(format!("the compiler is {version}"));
            return Err(with_output(failed, &said).help(help));
        }
        if !folder.path().join(&library).is_file() {
            return Err(unusable(&self.path, "it succeeds, but makes no library")
                .help("set RUSTC to the path of a `rustc`, or leave it unset"));
        }
        Ok(BuiltFile::new(folder, in_use, &library))
    }
}

fn flags(aligned: bool) -> Vec<&'static str> {
    FLAGS.iter().copied().chain(aligned.then_some(ALIGNED)).collect()
}

/// Whether an error is at a place in the module, or the compiler itself broke over it. What is
/// missing on the machine has no place there; warnings are switched off.
fn blames_the_text(said: &str) -> bool {
    let place = format!("--> {SOURCE}:");
    said.lines().any(|line| {
        line.trim_start().starts_with(&place) || line.contains("internal compiler error")
    })
}

fn unusable(path: &Path, why: &str) -> Box<Diagnostic> {
    Diagnostic::new(Code::Rustc, format!("cannot run `{}`: {why}", path.display()))
        .note("kernels are compiled by the Rust compiler of this machine")
}

fn with_output(mut d: Box<Diagnostic>, said: &str) -> Box<Diagnostic> {
    let lines: Vec<&str> = said.lines().collect();
    let shown = lines.len().min(SHOWN_LINES);
    if shown > 0 {
        d = d.note(format!("rustc says:\n{}", lines[..shown].join("\n").trim_end()));
    }
    if lines.len() > shown {
        d = d.note(format!("and {} more lines", lines.len() - shown));
    }
    d
}

/// What `-Ctarget-cpu=native` depends on: a cache in a shared home directory serves several
/// machines.
fn processor() -> String {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let one = about.split("\n\n").next().unwrap_or_default();
    let wanted = ["model name", "flags", "Features", "CPU part"];
    let lines = one.lines().filter(|line| wanted.iter().any(|w| line.starts_with(w)));
    let lines: Vec<&str> = lines.collect();
    format!("{} {}", std::env::consts::ARCH, lines.join(" "))
}
