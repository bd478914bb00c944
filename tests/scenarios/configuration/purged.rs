//! What a purge leaves in Glance's database.

use lab::{OpenStack, Result, ensure};
use provider_openstack::Release;

/// What purges.
const PURGE: &str = include_str!("../../../providers/openstack/src/purge.py");
/// What marks rows before, and lists those that are left.
const PROGRAM: &str = include_str!("purged.py");

/// Images and properties that are left of those that were deleted years ago.
fn left(openstack: &OpenStack, tables: &[&str]) -> Result<[Vec<String>; 2]> {
    let arguments: Vec<&str> = [PURGE].iter().chain(tables).copied().collect();
    openstack.run(PROGRAM, &arguments)
}

/// Rows that are in use again have a time of deletion still.
pub fn purge_leaves_rows_of_glance_that_are_in_use() -> Result<()> {
    for (year, half) in [(2025, 1), (2025, 2), (2026, 1), (2026, 2)] {
        let openstack = OpenStack::of(Release::new(year, half))?;
        let [images, properties] = left(&openstack, &["90:(?!images$).*", "180:images"])?;
        let expected = ["referred", "restored", "scrubbed", "used"];
        ensure!(images == expected, "{images:?}");
        ensure!(properties == ["again", "of-referred"], "{properties:?}");
        let [images, properties] = left(&openstack, &["90:(?!images$).*"])?;
        ensure!(images.len() == 5, "{images:?}");
        ensure!(properties.len() == 2, "{properties:?}");
        let [_, young] = left(&openstack, &["36500:.*"])?;
        ensure!(young.len() == 7, "{young:?}");
    }
    Ok(())
}
