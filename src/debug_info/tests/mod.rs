//! Tests with the objects in `tests/debug_info`. Its README documents their origin.
//!
//! `real` compares objects from compilers with llvm-dwarfdump and llvm-symbolizer. `made` checks a hand-written object against the specification.
//! `hostile` checks malformed input.

mod hostile;
mod made;
mod real;
mod scopes;
mod views;

use std::collections::HashMap;
use std::path::Path;

use ::object::{Object, ObjectSection};

use super::types::{Type, TypeTable};
use super::*;

/// The debug sections of a file by name.
pub(super) type Sections = HashMap<String, Vec<u8>>;

/// Reads a fixture. The `object` layer of this crate is not used, to test this layer alone.
pub(super) fn sections(name: &str) -> Sections {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/debug_info");
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let file = ::object::File::parse(bytes.as_slice()).unwrap();
    file.sections()
        .filter(|section| section.name().is_ok_and(|name| name.starts_with(".debug")))
        .map(|section| {
            let bytes = section.uncompressed_data().unwrap().into_owned();
            (section.name().unwrap().to_owned(), bytes)
        })
        .collect()
}

/// Returns the argument for [`DebugInfo::load`].
pub(super) fn getter<'s>(sections: &'s Sections) -> impl FnMut(&'static str) -> Result<&'s [u8]> {
    |name| Ok(sections.get(name).map_or(&[], Vec::as_slice))
}

pub(super) fn load(sections: &Sections) -> DebugInfo<'_> {
    DebugInfo::load(getter(sections)).unwrap()
}

/// Returns the entry at an offset of `.debug_info`.
pub(super) fn at(info: &DebugInfo<'_>, offset: u64) -> DieId {
    info.die_at(".debug_info", offset).unwrap()
}

/// Reads the type at an offset of `.debug_info`.
pub(super) fn read(info: &DebugInfo<'_>, offset: u64) -> (TypeTable, Type) {
    let mut table = TypeTable::default();
    let id = info
        .read_type(&mut table, Some(at(info, offset)), &info.for_query())
        .unwrap();
    let ty = table.get(id).clone();
    (table, ty)
}

/// Returns the name of the type at an offset of `.debug_info`.
pub(super) fn name(info: &DebugInfo<'_>, offset: u64) -> String {
    let mut table = TypeTable::default();
    let id = info
        .read_type(&mut table, Some(at(info, offset)), &info.for_query())
        .unwrap();
    type_name(&table, id)
}

/// Returns the names of the variables in scope at `pc`, with their scopes.
pub(super) fn variables(info: &DebugInfo<'_>, pc: u64) -> Vec<(String, String)> {
    let function = info.find_function(pc).unwrap().unwrap();
    let text = |text: Option<Cow<'_, str>>| text.unwrap_or_default().into_owned();
    info.variables_at(&function, pc)
        .unwrap()
        .into_iter()
        .map(|variable| (text(variable.name), text(variable.scope)))
        .collect()
}

/// Returns the only range of a list.
pub(super) fn only(ranges: &[core::ops::Range<u64>]) -> core::ops::Range<u64> {
    assert_eq!(ranges.len(), 1);
    ranges[0].clone()
}
