//! The locks that Cinder's programs share: rows of its database, by a driver of tooz that is ours.

use provider_openstack::{Files, Program, Section, Source};

/// The URL by which tooz finds the driver. The driver takes the database's address and password from the section `database`.
const URL: &str = "rows://";
/// The folder of the driver's package. Its name is what makes it a package
/// (<https://packaging.python.org/en/latest/specifications/recording-installed-packages/>).
pub const PACKAGE: &str = "/etc/cinder/locks/c5c3_locks.dist-info";
/// Where Python finds the package, and in it the driver.
pub const PYTHONPATH: &str = "/etc/cinder/locks:/etc/cinder/locks/c5c3_locks.dist-info";
/// The files of the package: its name, by which class tooz handles the scheme of its URL (`tooz.coordination.TOOZ_BACKENDS_NAMESPACE`),
/// and the driver.
pub const FILES: [(&str, &str); 3] = [
    (
        "METADATA",
        "Metadata-Version: 2.1\nName: c5c3-locks\nVersion: 1\n",
    ),
    (
        "entry_points.txt",
        "[tooz.backends]\nrows = c5c3_locks:Driver\n",
    ),
    ("c5c3_locks.py", include_str!("locks.py")),
];

/// Chooses the driver, and adds its files.
pub(crate) fn configure(section: &mut Section, files: &mut Files) {
    section.set("backend_url", URL);
    for (name, text) in FILES {
        files.text(name, text);
    }
}

/// Has a program find the driver, which is among these files.
pub(crate) fn mount(program: Program, files: Source) -> Program {
    program
        .mount("locks", PACKAGE, files)
        .variable("PYTHONPATH", PYTHONPATH)
}
