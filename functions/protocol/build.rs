//! Compiles the protocol's messages, without protoc.

use std::path::PathBuf;
use std::{env, error, fs};

use prost::Message;

const SOURCE: &str = "proto/run_function.proto";
const PACKAGE: &str = "package apiextensions.fn.proto.v1;";

fn main() -> Result<(), Box<dyn error::Error>> {
    println!("cargo::rerun-if-changed={SOURCE}");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let source = fs::read_to_string(SOURCE)?;
    if !source.contains(PACKAGE) {
        return Err(format!("{SOURCE} must say `{PACKAGE}`").into());
    }
    for version in ["v1", "v1beta1"] {
        let folder = out.join("proto/fn").join(version);
        fs::create_dir_all(&folder)?;
        let package = format!("package apiextensions.fn.proto.{version};");
        fs::write(
            folder.join("run_function.proto"),
            source.replace(PACKAGE, &package),
        )?;
    }

    let v1 = protox::compile(["proto/fn/v1/run_function.proto"], [&out])?;
    prost_build::Config::new()
        .btree_map(["."])
        .extern_path(".google.protobuf.Struct", "crate::Document")
        .skip_debug([
            ".apiextensions.fn.proto.v1.CredentialData",
            ".apiextensions.fn.proto.v1.Resource",
        ])
        .compile_fds(v1)?;

    let mut both = protox::compile(
        [
            "proto/fn/v1/run_function.proto",
            "proto/fn/v1beta1/run_function.proto",
        ],
        [&out],
    )?;
    // Reflection needs no comments.
    both.file
        .iter_mut()
        .for_each(|file| file.source_code_info = None);
    fs::write(out.join("run_function.binpb"), both.encode_to_vec())?;
    Ok(())
}
