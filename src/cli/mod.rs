//! The command line (design §13): one file per command.
//!
//! In: arguments. Out: the exit status. Results go to stdout at the end, all at once; warnings,
//! progress and diagnostics to stderr. 0: done. 2: the input is wrong, or the machine lacks something
//! (a file, space, `rustc`); the diagnostic says what to do. 1: Siskin itself failed, or stdout could
//! not be written; one line says how to reproduce it.

mod bench;
mod check;
mod convert;
mod data;
mod emit;
mod explain;
mod finds;
mod layouts;
mod loops;
mod options;
mod render;
mod run;
mod smt;
mod tensor_argument;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use siskin::diagnostic::Result;

/// A compiler for sparse and structured tensor kernels whose formats are declared, not coded
#[derive(Parser)]
#[command(version, arg_required_else_help = true, after_help = include_str!("examples/siskin.txt"))]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Say on stderr what is going on (-vv: every step)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Emit(emit::Emit),
    Explain(explain::Explain),
    Bench(bench::Bench),
    Layouts(layouts::Layouts),
    Check(check::Check),
    Convert(convert::Convert),
}

/// Parses the arguments and runs the command.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let why = panic.payload();
        let why = why
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(why.downcast_ref::<&str>().copied())
            .unwrap_or("unknown reason");
        let why = why.replace('\n', " ");
        let _ = writeln!(
            io::stderr(),
            "siskin: internal error at {place}: {why}; to reproduce: {}",
            command_line()
        );
        std::process::exit(1);
    }));
    let cli = Cli::parse();
    start_log(cli.verbose);
    let result = match &cli.command {
        Command::Run(c) => c.execute(),
        Command::Emit(c) => c.execute(),
        Command::Explain(c) => c.execute(),
        Command::Bench(c) => c.execute(),
        Command::Layouts(c) => c.execute(),
        Command::Check(c) => c.execute(),
        Command::Convert(c) => c.execute(),
    };
    match result {
        Ok(text) => print(&text),
        Err(diagnostic) => {
            let text = render::diagnostic(&diagnostic, io::stderr().is_terminal());
            let _ = writeln!(io::stderr(), "{text}");
            match diagnostic.code.is_defect() {
                true => {
                    let _ = writeln!(io::stderr(), "siskin: to reproduce: {}", command_line());
                    ExitCode::from(1)
                }
                false => ExitCode::from(2),
            }
        }
    }
}

/// What a command prints on success.
type Output = Result<String>;

/// A reader that goes away, as `head` does, is no error.
fn print(text: &str) -> ExitCode {
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
fn command_line() -> String {
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

fn start_log(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::WARN,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .without_time()
        .try_init();
}

/// Something the user should know, without being asked.
fn warn(text: &str) {
    let _ = writeln!(io::stderr(), "{}", render::warning(text, io::stderr().is_terminal()));
}
