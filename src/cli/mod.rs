//! The command line (design §13): one file per command.
//!
//! In: arguments. Out: the exit status. Results go to stdout at the end, all at once; warnings,
//! progress and diagnostics to stderr. 0: done. 2: the input is wrong, or the machine lacks something
//! (a file, space, `rustc`); the diagnostic says what to do. 1: Siskin itself failed, or stdout could
//! not be written; one line says how to reproduce it.

mod bench;
mod calibrate;
mod check;
mod compiler;
mod completions;
mod convert;
mod copies;
mod costs;
mod data;
mod destination;
mod emit;
mod explain;
mod finds;
mod fused;
mod generated;
mod given;
mod interpreted;
mod kernels;
mod layouts;
mod leaves;
mod listed;
mod log;
mod looplets;
mod loops;
mod operators;
mod options;
mod output;
mod program;
mod progress;
mod render;
mod result;
mod run;
mod run_report;
mod running;
mod sequence;
mod shown;
mod signals;
mod smt;
mod standard;
mod stories;
mod tensor_argument;
mod tensors;
mod turns;
mod written;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use output::{command_line, print};
use siskin::exec::Cache;
use siskin::prover::kept;

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
    Operators(operators::OperatorsCommand),
    Check(check::Check),
    Convert(convert::Convert),
    Calibrate(calibrate::Calibrate),
    Completions(completions::Completions),
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
    let cli = Cli::parse_from(std::env::args_os().map(tensor_argument::protected));
    log::start(cli.verbose);
    signals::handle();
    let result = match &cli.command {
        Command::Run(c) => remembering(|| c.execute()),
        Command::Emit(c) => remembering(|| c.execute()),
        Command::Explain(c) => c.execute(),
        Command::Bench(c) => c.execute(),
        Command::Layouts(c) => c.execute(),
        Command::Operators(c) => c.execute(),
        Command::Check(c) => c.execute(),
        Command::Convert(c) => c.execute(),
        Command::Calibrate(c) => c.execute(),
        Command::Completions(c) => c.execute(Cli::command()),
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

/// What was proved in earlier runs is not proved again, beside the kernels that were compiled.
fn remembering<T>(command: impl FnOnce() -> T) -> T {
    if let Some(folder) = Cache::of_user().folder() {
        kept::keep_in(folder);
    }
    let result = command();
    if let Err(e) = kept::save() {
        tracing::debug!("what was proved is not kept: {e}");
    }
    result
}
