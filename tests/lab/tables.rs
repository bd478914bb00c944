//! Writes the tables of what OpenStack's services read: `cargo run --package lab --bin lab-tables`.

use std::fs;
use std::path::Path;

fn main() -> anyhow::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../providers/openstack/options");
    for (name, text) in lab::tables()? {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
