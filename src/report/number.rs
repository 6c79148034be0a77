//! Formats numbers and bytes for the documents.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::arch::{LoadAddress, ProcessAddress};
use crate::hex::Integer;

/// A number that may exceed 2^53. It is written as a string, `"0x…"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hex(pub u128);

impl From<u64> for Hex {
    fn from(value: u64) -> Hex {
        Hex(value.into())
    }
}

impl From<ProcessAddress> for Hex {
    fn from(address: ProcessAddress) -> Hex {
        Hex::from(address.0)
    }
}

impl From<LoadAddress> for Hex {
    fn from(address: LoadAddress) -> Hex {
        Hex::from(address.0)
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hex, D::Error> {
        let Integer(number) = Integer::deserialize(deserializer)?;
        Ok(Hex(number))
    }
}

/// Returns bytes as hexadecimal digits in address order, without separators.
#[must_use]
pub fn hex_bytes(bytes: &[u8]) -> String {
    use core::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Parses pairs of hexadecimal digits, and ignores white space. Returns `None` if the text is not pairs of digits.
#[must_use]
pub fn parse_hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    Some(
        digits
            .chunks_exact(2)
            .filter_map(|pair| pair.first().zip(pair.get(1)))
            .map(|(a, b)| a << 4 | b)
            .collect(),
    )
}
