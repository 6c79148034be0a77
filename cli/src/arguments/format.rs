//! Types of arguments that several commands share.

use clap::ValueEnum;

/// The output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document.
    Json,
}

pub(super) fn parse_offset(text: &str) -> Result<u64, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map_err(|_| "expected a number, in decimal or after 0x in hexadecimal".to_owned())
}
