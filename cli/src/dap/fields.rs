//! Fields of JSON objects.

use serde_json::Value;

/// Sets a field of an object.
pub(super) fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(name.to_owned(), value.into());
    }
}

/// Returns a field of an object; null if it has none of this name, or is no object.
pub(super) fn field<'v>(object: &'v Value, name: &str) -> &'v Value {
    object.get(name).unwrap_or(&Value::Null)
}
