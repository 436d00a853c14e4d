//! The `siskin` command.

fn main() {}
