//! Represents values of the metadata that are not in a table.

use rmpv::ValueRef;

/// Any MsgPack value.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataValue {
    /// No value.
    Nil,
    /// True or false.
    Boolean(bool),
    /// An integer of at most 64 bits, signed or not.
    Integer(i128),
    /// A floating point number.
    Float(f64),
    /// Text; bytes that are not UTF-8 were replaced.
    Text(String),
    /// Bytes; also the contents of an extension type.
    Bytes(Vec<u8>),
    /// A sequence.
    List(Vec<MetadataValue>),
    /// Keys and values, in the order of the file.
    Map(Vec<(MetadataValue, MetadataValue)>),
}

impl From<&ValueRef<'_>> for MetadataValue {
    // As deep as the value is, and that is limited when it is read.
    fn from(value: &ValueRef<'_>) -> MetadataValue {
        match value {
            ValueRef::Nil => MetadataValue::Nil,
            ValueRef::Boolean(b) => MetadataValue::Boolean(*b),
            ValueRef::Integer(n) => MetadataValue::Integer(
                n.as_u64()
                    .map(i128::from)
                    .or_else(|| n.as_i64().map(i128::from))
                    .unwrap_or(0),
            ),
            ValueRef::F32(n) => MetadataValue::Float(f64::from(*n)),
            ValueRef::F64(n) => MetadataValue::Float(*n),
            ValueRef::String(text) => {
                MetadataValue::Text(String::from_utf8_lossy(text.as_bytes()).into_owned())
            }
            ValueRef::Binary(bytes) | ValueRef::Ext(_, bytes) => {
                MetadataValue::Bytes(bytes.to_vec())
            }
            ValueRef::Array(list) => {
                MetadataValue::List(list.iter().map(MetadataValue::from).collect())
            }
            ValueRef::Map(map) => MetadataValue::Map(
                map.iter()
                    .map(|(key, value)| (MetadataValue::from(key), MetadataValue::from(value)))
                    .collect(),
            ),
        }
    }
}
