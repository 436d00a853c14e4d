//! A folder with small tensors, and the command to run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub const SPMSPV: &str = "y[i] += A[i,j] * x[j]";

/// 3 × 4, entries out of order.
const MATRIX: &str = "%%MatrixMarket matrix coordinate real general
3 4 5
1 3 2.0
1 1 1.0
3 4 5.0
2 2 3.0
3 1 4.0
";

/// A column of four with entries at 0 and 2.
const VECTOR: &str = "%%MatrixMarket matrix coordinate real general
4 1 2
1 1 10.0
3 1 1.0
";

pub struct Sandbox {
    folder: TempDir,
}

pub struct Outcome {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    /// With `m.mtx` and `x.mtx`, whose product is `[12, 0, 40]`.
    pub fn new() -> Sandbox {
        let sandbox = Sandbox { folder: tempfile::tempdir().unwrap() };
        sandbox.file("m.mtx", MATRIX);
        sandbox.file("x.mtx", VECTOR);
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The command in this folder. All tests share a cache, so that few kernels are compiled.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_siskin"));
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("SISKIN_CACHE", cache)
            // Whatever was measured on this machine.
            .env("SISKIN_CALIBRATION", "none")
            .env_remove("NO_COLOR")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Outcome {
        outcome(&mut self.command(arguments))
    }

    /// The output of a command that succeeds and says nothing on stderr.
    pub fn done(&self, arguments: &[&str]) -> String {
        let out = self.run(arguments);
        assert_eq!((out.status, out.stderr.as_str()), (0, ""), "{arguments:?}\n{}", out.stdout);
        out.stdout
    }

    /// The JSON object that a command prints.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let text = self.done(arguments);
        assert_eq!(text.lines().count(), 1, "one object on one line: {text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value.is_object());
        value
    }

    /// The diagnostic of a command that is refused with `code`, and prints nothing on stdout.
    pub fn refused(&self, code: &str, arguments: &[&str]) -> String {
        let out = self.run(arguments);
        assert_eq!((out.status, out.stdout.as_str()), (2, ""), "{arguments:?}\n{}", out.stderr);
        let (first, rest) = out.stderr.split_once('\n').expect("several lines");
        assert!(first.starts_with(&format!("error[{code}]: ")), "{}", out.stderr);
        assert!(rest.contains("help: "), "what to do: {}", out.stderr);
        assert!(!out.stderr.contains('\u{1b}'), "no colour outside a terminal");
        out.stderr
    }
}

pub fn outcome(command: &mut Command) -> Outcome {
    let out = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Outcome {
        status: out.status.code().unwrap_or(-1),
        stdout: text(out.stdout),
        stderr: text(out.stderr),
    }
}
