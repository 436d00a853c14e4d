//! The command line as its users meet it: what is printed, where, and with which exit status.

#[path = "cli/sandbox.rs"]
mod sandbox;

#[path = "cli/archives.rs"]
mod archives;
#[path = "cli/header.rs"]
mod header;
#[path = "cli/malformed.rs"]
mod malformed;
#[path = "cli/memory.rs"]
mod memory;
#[path = "cli/results.rs"]
mod results;
#[path = "cli/stages.rs"]
mod stages;
