//! The `siskin` command.

mod cli;

#[global_allocator]
static ALLOCATOR: siskin::tensor::HugePages = siskin::tensor::HugePages;

fn main() -> std::process::ExitCode {
    cli::main()
}
