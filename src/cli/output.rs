//! What commands say: on stdout, on stderr, and into files.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use siskin::diagnostic::{Code, Diagnostic, Result};
use siskin::files;

use super::render;

/// What a command prints on success.
pub type Output = Result<String>;

/// A reader that goes away, as `head` does, is no error.
pub fn print(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    let line = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(line.as_bytes()))
        .and_then(|()| out.flush())
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            let _ = writeln!(
                io::stderr(),
                "siskin: cannot write to stdout: {e}; to reproduce: {}",
                command_line()
            );
            ExitCode::from(1)
        }
    }
}

/// The command as the shell would read it.
pub fn command_line() -> String {
    let quoted = std::env::args_os().map(|a| {
        let a = a.to_string_lossy().into_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
        match !a.is_empty() && a.chars().all(plain) {
            true => a,
            false => format!("'{}'", a.replace('\'', r"'\''")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Something the user should know, without being asked.
pub fn warn(text: &str) {
    let _ = writeln!(io::stderr(), "{}", render::warning(text, io::stderr().is_terminal()));
}

/// What would have been better, on stderr.
pub fn hint(text: &str) {
    let _ = writeln!(io::stderr(), "{}", render::hint(text, io::stderr().is_terminal()));
}

/// Writes a text file: complete, or the old one is untouched.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    files::check_place(path)?;
    files::replace(path, |out| out.write_all(text.as_bytes())).map_err(|e: std::io::Error| {
        Diagnostic::new(Code::Io, format!("cannot write `{}`: {e}", path.display()))
            .help("check that the folder can be written to and has space")
    })
}
