//! Escapes text that contains parts of files.

use hetdwarf::Untrusted;

/// Returns a `repr` without control characters, which a terminal would obey.
pub fn shown(repr: &str) -> String {
    Untrusted::from(repr).to_string()
}
