//! The command line as its users meet it: what is printed, where, and with which exit status.

#[path = "cli/sandbox.rs"]
mod sandbox;

#[path = "cli/archives.rs"]
mod archives;
#[path = "cli/arguments.rs"]
mod arguments;
#[path = "cli/assembled.rs"]
mod assembled;
#[path = "cli/bench.rs"]
mod bench;
#[path = "cli/copies.rs"]
mod copies;
#[path = "cli/costs.rs"]
mod costs;
#[path = "cli/declarations.rs"]
mod declarations;
#[path = "cli/header.rs"]
mod header;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/kept.rs"]
mod kept;
#[path = "cli/malformed.rs"]
mod malformed;
#[path = "cli/memory.rs"]
mod memory;
#[path = "cli/program_modules.rs"]
mod program_modules;
#[path = "cli/programs.rs"]
mod programs;
#[path = "cli/results.rs"]
mod results;
#[path = "cli/sequences.rs"]
mod sequences;
#[path = "cli/signals.rs"]
mod signals;
#[path = "cli/stages.rs"]
mod stages;
#[path = "cli/templates.rs"]
mod templates;
