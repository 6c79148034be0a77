//! Represents parsed JSON, and checks fields against their expected types.

use core::fmt;
use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::nearest::nearest;

/// The maximum length of a text repeated in a message.
const SHOWN: usize = 40;

/// A fault, and the field with it.
#[derive(Debug)]
pub(super) struct Fault {
    /// The field, such as `registers.v0[3]`, or empty for the document.
    path: String,
    reason: String,
}

impl Fault {
    pub(super) fn new(reason: impl Into<String>) -> Fault {
        let (path, reason) = (String::new(), reason.into());
        Fault { path, reason }
    }

    /// Returns the fault of a field with an unexpected value.
    pub(super) fn expected(expected: &str, found: &Node<'_>) -> Fault {
        Fault::new(format!("expected {expected}, found {found}"))
    }

    /// Returns the fault with the field `name` before its path.
    pub(super) fn in_field(mut self, name: &str) -> Fault {
        let name: String = name.chars().take(SHOWN).collect();
        let dot = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }

    /// Returns the fault with list index `index` before its path.
    pub(super) fn at_index(mut self, index: usize) -> Fault {
        let dot = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("[{index}]{dot}{}", self.path);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

/// A JSON value. Text is borrowed from the document if it has no escapes, and an object has no field twice.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Null,
    Bool(bool),
    Integer(u64),
    /// A number that is no integer, negative, or too large, as text for a message.
    Number(String),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Object(BTreeMap<String, Node<'a>>),
}

impl<'a> Node<'a> {
    /// Returns the fields of an object.
    pub(super) fn object(&self) -> Result<&BTreeMap<String, Node<'a>>, Fault> {
        if let Node::Object(fields) = self {
            Ok(fields)
        } else {
            Err(Fault::expected("an object", self))
        }
    }

    /// Checks that an object has no other fields than `known`.
    pub(super) fn only(&self, known: &[&'static str]) -> Result<(), Fault> {
        let unknown = |name: &&String| !known.contains(&name.as_str());
        let Some(name) = self.object()?.keys().find(unknown) else {
            return Ok(());
        };
        let reason = match nearest(name, known.iter().copied()) {
            Some(meant) => format!("unknown field; did you mean \"{meant}\"?"),
            None => format!("unknown field; expected {}", known.join(", ")),
        };
        Err(Fault::new(reason).in_field(name))
    }

    /// Reads the field `name` of an object with `read`. A missing field is an error.
    pub(super) fn field<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Node<'a>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let missing = || Fault::new("is missing").in_field(name);
        self.optional(name, read)?.ok_or_else(missing)
    }

    /// Reads the field `name` of an object with `read`, or returns `None` if it is missing or null.
    pub(super) fn optional<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Node<'a>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let value = self
            .object()?
            .get(name)
            .filter(|value| !matches!(value, Node::Null));
        value
            .map(read)
            .transpose()
            .map_err(|fault| fault.in_field(name))
    }

    /// Reads the elements of a list, each with `read`.
    pub(super) fn list<T>(
        &self,
        read: impl Fn(&Node<'a>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let Node::List(elements) = self else {
            return Err(Fault::expected("a list", self));
        };
        let read = |(index, element)| read(element).map_err(|fault| fault.at_index(index));
        elements.iter().enumerate().map(read).collect()
    }

    /// Returns a text.
    pub(super) fn text(&self) -> Result<&str, Fault> {
        if let Node::Text(text) = self {
            Ok(text)
        } else {
            Err(Fault::expected("a text", self))
        }
    }

    /// Returns an integer of at most `bits` bits: a number, or a text of decimal digits, or of hexadecimal digits after `0x`.
    pub(super) fn integer(&self, bits: u32) -> Result<u64, Fault> {
        let value = match self {
            Node::Integer(value) => Some(*value),
            Node::Text(text) => parse(text),
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::List(_) | Node::Object(_) => None,
        };
        let above = |value: u64| value.checked_shr(bits).unwrap_or(0);
        value.filter(|&value| above(value) == 0).ok_or_else(|| {
            let expected = format!("an integer of at most {bits} bits");
            Fault::expected(&expected, self)
        })
    }

    /// Returns bytes from hexadecimal text, two digits each.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, Fault> {
        let text = self.text()?;
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let digit = |c: u8| {
            char::from(c)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        };
        let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        bytes
            .filter(|_| rest.is_empty())
            .ok_or_else(|| Fault::expected("bytes of two hexadecimal digits each", self))
    }
}

/// Parses an integer's text. Returns `None` if it is invalid, or exceeds 64 bits.
fn parse(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // `from_str_radix` would also accept a sign.
    let plain = digits.chars().all(|c| c.is_digit(radix));
    plain.then(|| u64::from_str_radix(digits, radix).ok())?
}

/// Formats the actual value for a message.
impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Null => f.write_str("null"),
            Node::Bool(value) => write!(f, "{value}"),
            Node::Integer(value) => write!(f, "{value}"),
            Node::Number(value) => f.write_str(value),
            Node::Text(text) => match text.char_indices().nth(SHOWN) {
                None => write!(f, "{text:?}"),
                Some((at, _)) => {
                    let shown = text.split_at_checked(at).map_or("", |(shown, _)| shown);
                    write!(f, "a text of {} bytes, {shown:?}…", text.len())
                }
            },
            Node::List(elements) => write!(f, "a list of {}", elements.len()),
            Node::Object(_) => f.write_str("an object"),
        }
    }
}

impl<'de> Deserialize<'de> for Node<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

/// Builds a [`Node`].
struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Node::Integer(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(match u64::try_from(value) {
            Ok(value) => Node::Integer(value),
            Err(_) => Node::Number(value.to_string()),
        })
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Node::Number(format!("{value:?}")))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Node::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Node::Text(Cow::Borrowed(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        Ok(Node::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, Node<'de>>()? {
            if fields.contains_key(&name) {
                let name: String = name.chars().take(SHOWN).collect();
                return Err(A::Error::custom(format_args!("duplicate field {name:?}")));
            }
            fields.insert(name, value);
        }
        Ok(Node::Object(fields))
    }
}
