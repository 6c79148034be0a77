//! Loads the contents of sections on demand: decompressed, and relocated in unlinked objects, each once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use object::LittleEndian as LE;

use super::bytes;
use super::dwarf6::{AsDwarf5, as_dwarf5};
use super::elf::{Elf, RawSection};
use super::relocation::{self, Unresolved};
use super::section::{self, Section, SectionKind};
use crate::error::{Error, Result};
use crate::meter::Held;

/// The final bytes, for all readers.
#[derive(Debug)]
pub(super) struct Loaded<'data> {
    pub(super) bytes: Cow<'data, [u8]>,
    pub(super) unresolved: Vec<Unresolved>,
    /// The data with version 6 relabelled as version 5, and the offsets of those parts. `None` if nothing has version 6.
    as_dwarf5: OnceLock<Result<Option<AsDwarf5>>>,
}

impl Loaded<'_> {
    fn new(bytes: Cow<'_, [u8]>, unresolved: Vec<Unresolved>) -> Loaded<'_> {
        Loaded {
            bytes,
            unresolved,
            as_dwarf5: OnceLock::new(),
        }
    }

    /// Returns the bytes for a reader of DWARF 5, and the offsets of the parts of version 6.
    ///
    /// * `name`: the name of the section.
    pub(super) fn as_dwarf5(&self, name: &str, held: &Held) -> Result<(&[u8], &[u64])> {
        let changed = self
            .as_dwarf5
            .get_or_init(|| as_dwarf5(name, &self.bytes, held));
        Ok(match changed.as_ref().map_err(Clone::clone)? {
            Some(changed) => (&changed.bytes, &changed.starts),
            None => (&self.bytes, &[]),
        })
    }
}

/// Contents that are loaded together: one section or, in a relocatable object, all debug sections of one name.
#[derive(Debug)]
struct Group<'data> {
    members: Vec<usize>,
    loaded: OnceLock<Result<Option<Loaded<'data>>>>,
    /// The data before relocation.
    #[cfg(feature = "serde")]
    stored: OnceLock<Result<Option<Loaded<'data>>>>,
}

/// Returns the loaded contents, or the error.
fn shared<'l, 'data>(
    loaded: &'l Result<Option<Loaded<'data>>>,
) -> Result<Option<&'l Loaded<'data>>> {
    let loaded = loaded.as_ref().map_err(Clone::clone)?;
    Ok(loaded.as_ref())
}

/// All contents of a code object.
#[derive(Debug)]
pub(super) struct Contents<'data> {
    groups: Vec<Group<'data>>,
    /// The group of each section.
    group_of: Vec<usize>,
    /// For each section with relocations, the index of the section that holds them.
    relocations_of: BTreeMap<usize, usize>,
}

impl<'data> Contents<'data> {
    pub(super) fn new(elf: &Elf<'data>, sections: &[Section<'data>]) -> Result<Contents<'data>> {
        let mut groups: Vec<Group<'data>> = Vec::new();
        let mut group_of = Vec::with_capacity(sections.len());
        let mut by_name = BTreeMap::new();
        for (index, section) in sections.iter().enumerate() {
            let joins = elf.relocatable && section.is_debug() && !section.allocated;
            let next = groups.len();
            let group = if joins {
                *by_name.entry(section.standard_name()).or_insert(next)
            } else {
                next
            };
            match groups.get_mut(group) {
                Some(existing) => existing.members.push(index),
                None => groups.push(Group {
                    members: vec![index],
                    loaded: OnceLock::new(),
                    #[cfg(feature = "serde")]
                    stored: OnceLock::new(),
                }),
            }
            group_of.push(group);
        }
        let relocations_of = match elf.relocatable {
            true => relocation_tables(elf.sections)?,
            false => BTreeMap::new(),
        };
        Ok(Contents {
            groups,
            group_of,
            relocations_of,
        })
    }

    /// Returns the contents of the group that the section with this index belongs to. `None` if there are none
    /// in the file.
    pub(super) fn load(
        &self,
        elf: &Elf<'data>,
        sections: &[Section<'data>],
        index: usize,
    ) -> Result<Option<&Loaded<'data>>> {
        let Some(group) = self.group(index) else {
            return Ok(None);
        };
        let find = || self.load_group(elf, sections, group, true);
        shared(group.loaded.get_or_init(find))
    }

    /// Returns the contents of [`load`](Contents::load), but before relocation.
    #[cfg(feature = "serde")]
    pub(super) fn load_stored(
        &self,
        elf: &Elf<'data>,
        sections: &[Section<'data>],
        index: usize,
    ) -> Result<Option<&Loaded<'data>>> {
        let Some(group) = self.group(index) else {
            return Ok(None);
        };
        let find = || self.load_group(elf, sections, group, false);
        shared(group.stored.get_or_init(find))
    }

    /// Returns the group that the section with an index belongs to.
    fn group(&self, index: usize) -> Option<&Group<'data>> {
        self.groups.get(*self.group_of.get(index)?)
    }

    fn load_group(
        &self,
        elf: &Elf<'data>,
        sections: &[Section<'data>],
        group: &Group<'data>,
        relocate: bool,
    ) -> Result<Option<Loaded<'data>>> {
        if let [index] = *group.members {
            return self.load_one(elf, sections, index, relocate);
        }
        let mut all = Loaded::new(Cow::Owned(Vec::new()), Vec::new());
        for &index in &group.members {
            let (Some(section), Some(one)) = (
                sections.get(index),
                self.load_one(elf, sections, index, relocate)?,
            ) else {
                continue;
            };
            if let Cow::Borrowed(bytes) = one.bytes {
                elf.held.hold(bytes::len(bytes))?;
            }
            elf.held.meter().charge_bytes(one.bytes.len())?;
            let joined = all.bytes.to_mut();
            // The part starts at its address; alignment leaves zeros before it.
            let gap = section.address.checked_sub(bytes::len(joined));
            let start = usize::try_from(section.address).ok();
            let (Some(gap), Some(start)) = (gap, start) else {
                return Err(Error::malformed(
                    "section",
                    "its size differs from the size in its header",
                ));
            };
            elf.held.hold(gap)?;
            joined.resize(start, 0);
            joined.extend_from_slice(&one.bytes);
            all.unresolved
                .extend(one.unresolved.into_iter().map(|mut u| {
                    u.offset = u.offset.saturating_add(section.address);
                    u
                }));
        }
        Ok(Some(all))
    }

    fn load_one(
        &self,
        elf: &Elf<'data>,
        sections: &[Section<'data>],
        index: usize,
        relocate: bool,
    ) -> Result<Option<Loaded<'data>>> {
        let (Some(raw), Some(section)) = (elf.sections.get(index), sections.get(index)) else {
            return Ok(None);
        };
        let load = || {
            let Some(stored) = elf.stored(raw)? else {
                return Ok(None);
            };
            let bytes = match section::compressed(elf, raw, &section.name)? {
                Some(compressed) => Cow::Owned(compressed.decompress(&elf.held)?.0),
                None => Cow::Borrowed(stored),
            };
            match relocate {
                true => self.relocate(elf, sections, index, bytes).map(Some),
                false => Ok(Some(Loaded::new(bytes, Vec::new()))),
            }
        };
        load().map_err(|e: Error| e.within(static_name(section), 0))
    }

    fn relocate(
        &self,
        elf: &Elf<'data>,
        sections: &[Section<'data>],
        index: usize,
        mut bytes: Cow<'data, [u8]>,
    ) -> Result<Loaded<'data>> {
        let mut unresolved = Vec::new();
        let table = self
            .relocations_of
            .get(&index)
            .and_then(|&table| elf.sections.get(table));
        if let (Some(table), Some(target)) = (table, sections.get(index)) {
            // Overlapping tables could multiply them.
            elf.held.meter().work(relocation::count(table))?;
            if let Cow::Borrowed(bytes) = bytes {
                elf.held.hold(bytes::len(bytes))?;
                elf.held.meter().charge_bytes(bytes.len())?;
            }
            unresolved = relocation::apply(elf, sections, table, target, bytes.to_mut())?;
        }
        Ok(Loaded::new(bytes, unresolved))
    }
}

/// Returns the index of the relocation table for each section.
fn relocation_tables(sections: &[RawSection]) -> Result<BTreeMap<usize, usize>> {
    let mut tables = BTreeMap::new();
    for (index, raw) in sections.iter().enumerate() {
        if !relocation::is_table(raw) {
            continue;
        }
        let target = usize::try_from(raw.sh_info.get(LE)).unwrap_or(usize::MAX);
        if tables.insert(target, index).is_some() {
            return Err(Error::malformed(
                "relocation section",
                format!("section {target} has two"),
            ));
        }
    }
    Ok(tables)
}

/// The names in error messages. Other sections are named by their kind.
const NAMES: &[&str] = &[
    ".debug_abbrev",
    ".debug_addr",
    ".debug_aranges",
    ".debug_frame",
    ".debug_info",
    ".debug_line",
    ".debug_line_str",
    ".debug_loc",
    ".debug_loclists",
    ".debug_macinfo",
    ".debug_macro",
    ".debug_names",
    ".debug_pubnames",
    ".debug_pubtypes",
    ".debug_gnu_pubnames",
    ".debug_gnu_pubtypes",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_str",
    ".debug_str_offsets",
    ".debug_types",
    ".debug_abbrev.dwo",
    ".debug_info.dwo",
    ".debug_line.dwo",
    ".debug_loc.dwo",
    ".debug_loclists.dwo",
    ".debug_macro.dwo",
    ".debug_rnglists.dwo",
    ".debug_str.dwo",
    ".debug_str_offsets.dwo",
    ".debug_types.dwo",
    ".debug_cu_index",
    ".debug_tu_index",
    ".eh_frame",
    ".text",
    ".rodata",
    ".data",
    ".note",
    ".symtab",
    ".dynsym",
];

/// Returns the section's name as a static string for errors.
pub(crate) fn static_name(section: &Section<'_>) -> &'static str {
    let standard = section.standard_name();
    let known = NAMES.iter().find(|&&name| name == standard);
    known.copied().unwrap_or(kind_name(section.kind))
}

/// Returns the name for a section that error messages do not name individually.
fn kind_name(kind: SectionKind) -> &'static str {
    match kind {
        SectionKind::Code => "a code section",
        SectionKind::Data | SectionKind::ReadOnlyData | SectionKind::Zeros => "a data section",
        SectionKind::Debug => "a debug section",
        SectionKind::Note
        | SectionKind::Symbols
        | SectionKind::Strings
        | SectionKind::Relocations
        | SectionKind::Other => "a section",
    }
}

/// Finds a name that [`static_name`] can return.
#[cfg(feature = "serde")]
pub(crate) fn known_name(name: &str) -> Option<&'static str> {
    let kinds = [
        SectionKind::Code,
        SectionKind::Data,
        SectionKind::Debug,
        SectionKind::Other,
    ];
    let mut names = NAMES.iter().copied().chain(kinds.map(kind_name));
    names.find(|known| *known == name)
}
