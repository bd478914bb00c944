//! Progress messages.

use std::fmt::Arguments;
use std::io::{self, Write};

/// Writes a line past the test harness, which holds back what `eprintln!` prints until the test is over.
pub(crate) fn say(line: Arguments<'_>) {
    let _unheard = writeln!(io::stderr(), "lab: {line}");
}
