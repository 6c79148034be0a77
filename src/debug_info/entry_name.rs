//! The name of an entry, its own or that of one that it completes.

use gimli::DwAt;
use gimli::constants as dw;

use super::DebugInfo;
use super::die::Die;
use super::value::DieValue;
use crate::untrusted::Untrusted;

/// How far a name may be from the entry that it is wanted for: an instance, its origin, a declaration.
const HOPS: usize = 8;

/// The longest name that is kept; longer ones are cut, since a small file can name one long string many times.
pub(crate) const LONGEST_NAME: usize = 1024;

/// Returns an attribute's text, of the entry or one that it completes.
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

/// The name that the linker uses for an entry, its own or that of what it completes.
pub(crate) fn linkage_name<'a>(info: &DebugInfo<'a>, die: &Die<'a>) -> Option<Untrusted<'static>> {
    text_in_chain(
        info,
        die,
        &[dw::DW_AT_MIPS_linkage_name, dw::DW_AT_linkage_name],
    )
}

/// The name of an entry, its own or that of what it completes.
pub(crate) fn short_name<'a>(info: &DebugInfo<'a>, die: &Die<'a>) -> Option<Untrusted<'static>> {
    text_in_chain(info, die, &[dw::DW_AT_name])
}

/// The start of a text, if it is longer than a name may be.
pub(crate) fn cut_name(text: &str) -> &str {
    let end = (0..=LONGEST_NAME.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or(text)
}
