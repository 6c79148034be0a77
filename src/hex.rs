//! Serializes numbers that may exceed 2^53 as strings: `"0x…"`.

use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::Serializer;

/// Writes an address or offset; for `#[serde(with)]`.
pub(crate) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{number:#x}"))
}

/// Reads an address or offset; for `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let Integer(number) = Integer::deserialize(deserializer)?;
    u64::try_from(number).map_err(|_| D::Error::custom("a number of 64 bits is expected"))
}

/// An integer in any of the accepted forms: a JSON number, a decimal string or a `0x` string.
pub(crate) struct Integer(pub(crate) u128);

impl<'de> Deserialize<'de> for Integer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Integer, D::Error> {
        deserializer.deserialize_any(IntegerVisitor)
    }
}

struct IntegerVisitor;

impl Visitor<'_> for IntegerVisitor {
    type Value = Integer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a string of one in decimal or 0x form")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Integer, E> {
        Ok(Integer(value.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Integer, E> {
        let (digits, radix) = match text.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (text, 10),
        };
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let number = u128::from_str_radix(digits, radix).ok();
        let number = number.filter(|_| is_plain).map(Integer);
        number.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_in_every_form() {
        let read = |text: &str| {
            serde_json::from_str::<Integer>(text)
                .ok()
                .map(|read| read.0)
        };
        for (text, expected) in [
            ("7", Some(7)),
            ("\"7\"", Some(7)),
            ("\"0x1f\"", Some(31)),
            ("\"0xffffffffffffffffffffffffffffffff\"", Some(u128::MAX)),
            ("18446744073709551615", Some(u64::MAX.into())),
            ("\"+7\"", None),
            ("\"0x\"", None),
            ("\"\"", None),
            ("-1", None),
            ("1.5", None),
            ("null", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
