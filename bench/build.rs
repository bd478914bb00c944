//! Compiles the protocol's messages with prost: documents are `prost_types::Struct`.

use std::error;

fn main() -> Result<(), Box<dyn error::Error>> {
    let folder = "../functions/protocol/proto";
    println!("cargo::rerun-if-changed={folder}");
    let messages = protox::compile(["run_function.proto"], [folder])?;
    // Hash maps would make counts differ from run to run.
    prost_build::Config::new()
        .btree_map(["."])
        .compile_fds(messages)?;
    Ok(())
}
