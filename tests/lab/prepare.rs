//! Builds the lab's tools and images ahead of the scenarios: `cargo run --package lab`.

fn main() -> anyhow::Result<()> {
    lab::tools::prepare()?;
    lab::OpenStack::prepare()?;
    lab::Image::prepare()
}
