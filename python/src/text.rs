//! Text that has parts of files in it.

use hetdwarf::Untrusted;

/// A `repr` without what a terminal could obey.
pub fn shown(repr: &str) -> String {
    Untrusted::from(repr).to_string()
}
