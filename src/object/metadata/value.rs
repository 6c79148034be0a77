//! Values of the metadata that no table knows.

use rmpv::ValueRef;

/// Any MsgPack value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
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
    List(Vec<Value>),
    /// Keys and values, in the order of the file.
    Map(Vec<(Value, Value)>),
}

impl From<&ValueRef<'_>> for Value {
    // As deep as the value is, and that is limited when it is read.
    fn from(value: &ValueRef<'_>) -> Value {
        match value {
            ValueRef::Nil => Value::Nil,
            ValueRef::Boolean(b) => Value::Boolean(*b),
            ValueRef::Integer(n) => Value::Integer(
                n.as_u64()
                    .map(i128::from)
                    .or_else(|| n.as_i64().map(i128::from))
                    .unwrap_or(0),
            ),
            ValueRef::F32(n) => Value::Float(f64::from(*n)),
            ValueRef::F64(n) => Value::Float(*n),
            ValueRef::String(text) => {
                Value::Text(String::from_utf8_lossy(text.as_bytes()).into_owned())
            }
            ValueRef::Binary(bytes) | ValueRef::Ext(_, bytes) => Value::Bytes(bytes.to_vec()),
            ValueRef::Array(list) => Value::List(list.iter().map(Value::from).collect()),
            ValueRef::Map(map) => Value::Map(
                map.iter()
                    .map(|(key, value)| (Value::from(key), Value::from(value)))
                    .collect(),
            ),
        }
    }
}
