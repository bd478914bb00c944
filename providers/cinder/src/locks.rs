//! The locks that Cinder's programs share: rows of its database, by a driver of tooz that is ours.

use provider_openstack::{Files, Program, Section, Source};

/// The URL by which tooz finds the driver. The driver takes the database's address and password from the section `database`.
const URL: &str = "rows://";
/// Where Python looks for packages, and finds the driver's entry point.
const PACKAGES: &str = "/etc/cinder/locks";
/// The folder of the package, where Python finds the driver itself. The name is what makes it a package
/// (<https://packaging.python.org/en/latest/specifications/entry-points/>).
const PACKAGE: &str = "/etc/cinder/locks/c5c3_locks.dist-info";
/// The package, as short as it may be.
const METADATA: &str = "Metadata-Version: 2.1\nName: c5c3-locks\nVersion: 1\n";
/// What tooz reads of it: `tooz.coordination.TOOZ_BACKENDS_NAMESPACE`, the scheme of [`URL`], the file and its class.
const ENTRY_POINTS: &str = "[tooz.backends]\nrows = c5c3_locks:Driver\n";

/// Chooses the driver, and adds its files.
pub fn configure(section: &mut Section, files: &mut Files) {
    section.set("backend_url", URL);
    files.text("METADATA", METADATA);
    files.text("entry_points.txt", ENTRY_POINTS);
    files.text("c5c3_locks.py", include_str!("locks.py"));
}

/// Has a program find the driver, which is among these files.
pub fn mount(program: Program, files: Source) -> Program {
    program
        .mount("locks", PACKAGE, files)
        .variable("PYTHONPATH", format!("{PACKAGES}:{PACKAGE}"))
}
