//! Finds the name of an entry, in the entry itself or in an entry that it completes.

use gimli::DwAt;
use gimli::constants as dw;

use super::DebugInfo;
use super::die::Die;
use super::value::DieValue;
use crate::untrusted::Untrusted;

/// The maximum number of references to follow to a name: an instance, its origin, a declaration.
const HOPS: usize = 8;

/// The longest name that is kept. Longer names are truncated, since a small file can refer to one long string many times.
pub(crate) const LONGEST_NAME: usize = 1024;

/// Returns the text of an attribute of the entry, or of an entry that it completes.
fn text_in_chain<'a>(
    info: &DebugInfo<'a>,
    die: &Die<'a>,
    names: &[DwAt],
) -> Option<Untrusted<'static>> {
    let mut die = die.clone();
    for _ in 0..HOPS {
        let found = names.iter().find_map(|name| die.attribute(*name));
        if let Some(attribute) = found
            && let Ok(DieValue::String(text)) = info.value(&die, attribute)
        {
            return Some(cut_name(text.raw()).to_owned().into());
        }
        let origin = [dw::DW_AT_abstract_origin, dw::DW_AT_specification]
            .iter()
            .find_map(|name| die.attribute(*name))?;
        die = info.die(info.target(&die, origin).ok()??).ok()?;
    }
    None
}

/// Returns the linkage name of an entry, or of an entry that it completes.
pub(crate) fn linkage_name<'a>(info: &DebugInfo<'a>, die: &Die<'a>) -> Option<Untrusted<'static>> {
    text_in_chain(
        info,
        die,
        &[dw::DW_AT_MIPS_linkage_name, dw::DW_AT_linkage_name],
    )
}

/// Returns the name of an entry, or of an entry that it completes.
pub(crate) fn short_name<'a>(info: &DebugInfo<'a>, die: &Die<'a>) -> Option<Untrusted<'static>> {
    text_in_chain(info, die, &[dw::DW_AT_name])
}

/// Returns the text, truncated to the longest name.
pub(crate) fn cut_name(text: &str) -> &str {
    let end = (0..=LONGEST_NAME.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or(text)
}
