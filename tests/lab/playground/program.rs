//! The lab that people use, as `cargo xtask lab` starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    lab::playground::main()
}
