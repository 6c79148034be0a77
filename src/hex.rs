//! Numbers that may pass 2^53, as documents write them: a string, `"0x…"`.

use serde::Serializer;

/// Writes an address or offset; for `#[serde(serialize_with)]`.
pub(crate) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{number:#x}"))
}
