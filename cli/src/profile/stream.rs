//! Reads JSON as a stream, so that memory does not grow with the file: `serde` calls a reader for each field.
//!
//! A value of an unexpected type is skipped, and counts as missing.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Reads the fields of an object.
pub(super) trait Fields<'de> {
    /// Reads the value of a field, from `map`.
    fn field<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error>;

    /// Finishes an object.
    ///
    /// # Errors
    /// If reading cannot continue.
    fn end(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// Skips scalars of an unexpected type.
macro_rules! pass_over {
    ($($visit:ident $type:ty),*) => {
        $(fn $visit<E: Error>(self, _: $type) -> Result<Self::Value, E> { Ok(Self::Value::default()) })*
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
}

/// Skips a list.
macro_rules! pass_over_list {
    () => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

/// Skips an object.
macro_rules! pass_over_object {
    () => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

/// Deserializes an object, whose fields `F` reads.
pub(super) struct Object<'f, F>(pub(super) &'f mut F);

impl<'de, F: Fields<'de>> DeserializeSeed<'de> for Object<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: Fields<'de>> Visitor<'de> for Object<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Name)? {
            // One serializer writes a name with a trailing space.
            self.0.field(name.trim_ascii(), &mut map)?;
        }
        self.0.end().map_err(A::Error::custom)
    }

    pass_over!(visit_bool bool, visit_u64 u64, visit_i64 i64, visit_f64 f64, visit_str &str);
    pass_over_list!();
}

/// Deserializes a list of objects. `F` reads the fields of each.
pub(super) struct List<'f, F>(pub(super) &'f mut F);

impl<'de, F: Fields<'de>> DeserializeSeed<'de> for List<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: Fields<'de>> Visitor<'de> for List<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Object(&mut *self.0))?.is_some() {}
        Ok(())
    }

    pass_over!(visit_bool bool, visit_u64 u64, visit_i64 i64, visit_f64 f64, visit_str &str);
    pass_over_object!();
}

/// Deserializes the name of a field, which need not be UTF-8.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, [u8]>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, [u8]>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_bytes<E: Error>(self, name: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

/// Deserializes text. Values of other types are empty.
#[derive(Clone, Copy)]
pub(super) struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    pass_over!(visit_bool bool, visit_u64 u64, visit_i64 i64, visit_f64 f64);
    pass_over_list!();
    pass_over_object!();
}

/// Deserializes an unsigned 64-bit number. Other values are None.
#[derive(Clone, Copy)]
pub(super) struct Number;

impl<'de> DeserializeSeed<'de> for Number {
    type Value = Option<u64>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Number {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Some(flag.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(parse_number(text))
    }

    pass_over!(visit_i64 i64, visit_f64 f64);
    pass_over_list!();
    pass_over_object!();
}

/// Parses a number in decimal, or in hexadecimal after `0x`.
pub(super) fn parse_number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Deserializes a list of values of one kind, and passes each to `F`.
pub(super) struct Values<'f, S, F>(pub(super) S, pub(super) &'f mut F);

impl<'de, S, F> DeserializeSeed<'de> for Values<'_, S, F>
where
    S: DeserializeSeed<'de> + Copy,
    F: FnMut(S::Value) -> Result<(), String>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S, F> Visitor<'de> for Values<'_, S, F>
where
    S: DeserializeSeed<'de> + Copy,
    F: FnMut(S::Value) -> Result<(), String>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(value) = seq.next_element_seed(self.0)? {
            (self.1)(value).map_err(A::Error::custom)?;
        }
        Ok(())
    }

    pass_over!(visit_bool bool, visit_u64 u64, visit_i64 i64, visit_f64 f64, visit_str &str);
    pass_over_object!();
}

/// Skips the value of a field.
pub(super) fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}
