//! `siskin completions`: what a shell needs to complete commands and options.

use clap::{Args, Command};
use clap_complete::Shell;

use super::output::Output;

/// Print a script that makes a shell complete siskin's commands and options
#[derive(Args)]
#[command(after_help = include_str!("examples/completions.txt"))]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// The script for all of `command`.
    pub fn execute(&self, mut command: Command) -> Output {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "siskin", &mut script);
        Ok(String::from_utf8_lossy(&script).into_owned())
    }
}
