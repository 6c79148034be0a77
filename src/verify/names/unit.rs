//! Compares an index with the entries of a unit, and finds entries that the index lacks.

use std::borrow::Cow;

use foldhash::HashMap;
use gimli::DwTag;
use gimli::constants as dw;

use super::{Check, Indexed, Parent, rule};
use crate::arch::AddressSpace;
use crate::debug_info::attribute::tag_name;
use crate::debug_info::name_index::NameIndex;
use crate::debug_info::{Die, DieValue, UnitId, lossy};
use crate::expr::{Operation, operations};
use crate::verify::location::clipped;
use fallible_iterator::FallibleIterator;

/// The maximum number of references from an entry to the entry with its name. Compilers write two.
const HOPS: usize = 4;

/// The name of an unnamed namespace in an index.
const ANONYMOUS: &str = "(anonymous namespace)";

/// The tags of entries that an index does not contain, because they are local to other entries or refer to an entity elsewhere.
const NOT_INDEXED: &[DwTag] = &[
    dw::DW_TAG_compile_unit,
    dw::DW_TAG_partial_unit,
    dw::DW_TAG_type_unit,
    dw::DW_TAG_skeleton_unit,
    dw::DW_TAG_module,
    dw::DW_TAG_formal_parameter,
    dw::DW_TAG_template_type_parameter,
    dw::DW_TAG_template_value_parameter,
    dw::DW_TAG_GNU_template_parameter_pack,
    dw::DW_TAG_GNU_template_template_param,
    dw::DW_TAG_GNU_formal_parameter_pack,
    dw::DW_TAG_unspecified_parameters,
    dw::DW_TAG_member,
    dw::DW_TAG_enumerator,
    dw::DW_TAG_imported_declaration,
    dw::DW_TAG_imported_module,
    dw::DW_TAG_imported_unit,
    dw::DW_TAG_call_site,
    dw::DW_TAG_call_site_parameter,
    dw::DW_TAG_GNU_call_site,
    dw::DW_TAG_GNU_call_site_parameter,
    dw::DW_TAG_dwarf_procedure,
];

/// The strings by which an entry can be found: its name and its linkage name.
#[derive(Debug, Default)]
struct Names<'a> {
    name: Option<Cow<'a, str>>,
    linkage: Option<Cow<'a, str>>,
}

impl<'a> Check<'_, 'a> {
    /// Checks the entries of a unit.
    ///
    /// * `offset`: the offset of the unit in the index, which may be the skeleton of `unit`.
    /// * `entries`: the index entries for the unit, sorted by the offsets of the unit's entries.
    pub(super) fn unit(
        &mut self,
        index: &NameIndex<'_>,
        offset: u64,
        unit: UnitId,
        entries: &[Indexed],
    ) {
        let (Ok(info), Ok(mut dies)) = (self.info.unit_info(unit), self.info.dies(unit)) else {
            return;
        };
        let at: HashMap<u64, u64> = entries.iter().map(|entry| (entry.at, entry.die)).collect();
        let mut left = entries;
        // The offsets of the enclosing entries, from the start of the unit.
        let mut open: Vec<u64> = Vec::new();
        let mut missing: Option<(String, u64)> = None;
        let mut count = 0_u64;
        // `location` reports unreadable entries. The entries after them are not compared.
        let mut is_whole = false;
        while !self.is_exhausted() {
            let die = match dies.next_ref() {
                Ok(Some(die)) => die,
                Ok(None) => {
                    is_whole = true;
                    break;
                }
                Err(_) => break,
            };
            if die.is_null() {
                continue;
            }
            let place = die.id().offset.saturating_sub(info.offset);
            open.truncate(die.depth());
            let parent = open.last().copied();
            open.push(place);
            let before = left.partition_point(|entry| entry.die < place);
            self.nowhere(left.get(..before).unwrap_or_default(), offset);
            left = left.get(before..).unwrap_or_default();
            let same = left.partition_point(|entry| entry.die == place);
            let here = left.get(..same).unwrap_or_default();
            left = left.get(same..).unwrap_or_default();
            if here.is_empty() && !is_wanted(die) {
                continue;
            }
            let names = self.names(die);
            for entry in here {
                self.compare(index, entry, die, &names, parent, &at);
            }
            if is_wanted(die) && self.is_indexed(die) {
                // DWARF 5 §6.1.1.1 requires linkage names only for functions.
                let is_function =
                    [dw::DW_TAG_subprogram, dw::DW_TAG_inlined_subroutine].contains(&die.tag());
                let linkage = names.linkage.iter().filter(|_| is_function);
                for name in names.name.iter().chain(linkage) {
                    let mut here = here.iter();
                    if here.any(|entry| self.is_named(index, entry, name)) || self.is_exhausted() {
                        continue;
                    }
                    count += 1;
                    let first = || {
                        (
                            format!("{} `{}`", tag_name(die.tag()), clipped(name)),
                            die.id().offset,
                        )
                    };
                    missing.get_or_insert_with(first);
                }
            }
        }
        if is_whole {
            self.nowhere(left, offset);
        }
        if let Some((what, die)) = missing {
            let mut message = format!(
                "{what} at {die:#x} of {} is missing in the index",
                info.section
            );
            if count > 1 {
                let more = count - 1;
                message = format!("{message}; {more} more of this rule in this unit");
            }
            self.add(&rule::MISSING, message, index.offset);
        }
    }

    /// Reports index entries without an entry in the unit at `offset`.
    fn nowhere(&mut self, entries: &[Indexed], offset: u64) {
        for entry in entries {
            let message = format!("no entry of the unit at {offset:#x} is at {:#x}", entry.die);
            self.add(&rule::DIE, message, entry.at);
        }
    }

    fn compare(
        &mut self,
        index: &NameIndex<'_>,
        entry: &Indexed,
        die: &Die<'a>,
        names: &Names<'a>,
        parent: Option<u64>,
        at: &HashMap<u64, u64>,
    ) {
        let place = die.id().offset;
        if entry.tag != die.tag() {
            let (has, is) = (tag_name(entry.tag), tag_name(die.tag()));
            let message = format!("it has {has}, but the entry at {place:#x} is a {is}");
            self.add(&rule::TAG, message, entry.at);
        }
        // A missing string is reported for the name.
        if let Some(string) = self.string(index, entry.name) {
            let string = lossy(string);
            if !names.fit(&string) {
                let is = names.name.as_deref().or(names.linkage.as_deref());
                let is = is.map_or("no name".to_owned(), |name| {
                    format!("the name `{}`", clipped(name))
                });
                let message = format!(
                    "it is for `{}`, but the entry at {place:#x} has {is}",
                    clipped(&string)
                );
                self.add(&rule::NAME, message, entry.at);
            }
        }
        if let Parent::At(claimed) = entry.parent
            && let Some(claimed) = at.get(&claimed)
            && Some(*claimed) != parent
        {
            let message = format!(
                "it is {claimed:#x} of the unit, but the parent of the entry at {place:#x} is {:#x}",
                parent.unwrap_or_default()
            );
            self.add(&rule::PARENT, message, entry.at);
        }
    }

    fn is_named(&mut self, index: &NameIndex<'_>, entry: &Indexed, wanted: &str) -> bool {
        self.string(index, entry.name)
            .is_some_and(|string| lossy(string) == wanted)
    }

    /// Returns the names of an entry, or of the entries that it is an instance or a completion of.
    fn names(&mut self, die: &Die<'a>) -> Names<'a> {
        let mut names = Names::default();
        let mut die = Some(die.clone());
        let tag = die.as_ref().map(Die::tag);
        for _ in 0..HOPS {
            let Some(here) = die.take() else { break };
            let text = |name| match self.info.value(&here, here.attribute(name)?) {
                Ok(DieValue::String(text)) => Some(text.into_raw()),
                Ok(_) | Err(_) => None,
            };
            names.name = names.name.or_else(|| text(dw::DW_AT_name));
            for name in [dw::DW_AT_linkage_name, dw::DW_AT_MIPS_linkage_name] {
                names.linkage = names.linkage.or_else(|| text(name));
            }
            let origin = here
                .attribute(dw::DW_AT_abstract_origin)
                .or_else(|| here.attribute(dw::DW_AT_specification));
            let target = origin.and_then(|origin| self.info.target(&here, origin).ok()?);
            die = target.and_then(|id| self.info.die(id).ok());
        }
        let length = |name: &Option<Cow<'_, str>>| name.as_ref().map_or(0, |name| name.len());
        let cost = length(&names.name) + length(&names.linkage);
        self.charge(cost as u64);
        if names.name.is_none() && tag == Some(dw::DW_TAG_namespace) {
            names.name = Some(ANONYMOUS.into());
        }
        names
    }

    /// Returns true if a function or variable has an address, which an entry in an index requires.
    fn is_indexed(&self, die: &Die<'a>) -> bool {
        match die.tag() {
            dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine | dw::DW_TAG_label => [
                dw::DW_AT_low_pc,
                dw::DW_AT_high_pc,
                dw::DW_AT_ranges,
                dw::DW_AT_entry_pc,
            ]
            .iter()
            .any(|name| die.attribute(*name).is_some()),
            dw::DW_TAG_variable => self.has_address(die),
            _ => true,
        }
    }

    /// Returns true if the location of a variable is an address of the program (HET A.6.1.1.1). The address may be fixed, in thread-local storage, or
    /// in memory that all lanes share. Compilers put no variable in private memory into an index, because each lane has its own copy in each frame.
    fn has_address(&self, die: &Die<'a>) -> bool {
        let Some(attribute) = die.attribute(dw::DW_AT_location) else {
            return false;
        };
        let Ok(DieValue::Expression(expression)) = self.info.value(die, attribute) else {
            return false;
        };
        let mut items = operations(expression.bytes, expression.unit.encoding);
        // The constants that the two preceding operations push.
        let (mut address, mut space) = (None, None);
        while let Ok(Some(item)) = items.next() {
            let is_of_all_lanes = |space| {
                let space = AddressSpace::from_number(space);
                space.is_some_and(|space| {
                    !matches!(space, AddressSpace::PrivateLane | AddressSpace::PrivateWave)
                })
            };
            let operation = item.operation;
            let is_address = matches!(
                operation,
                Operation::Addr { .. } | Operation::Addrx { .. } | Operation::FormTlsAddress
            ) || matches!(operation, Operation::FormAspaceAddress)
                && address.is_some()
                && space.is_some_and(is_of_all_lanes);
            if is_address {
                return true;
            }
            (address, space) = (space, item.operation.constant());
        }
        false
    }
}

impl Names<'_> {
    /// Returns true if a string can find the entry. The string may be one of its names, or the name of a template without arguments.
    fn fit(&self, string: &str) -> bool {
        let is_template = |name: &str| {
            let rest = name.strip_prefix(string);
            rest.is_some_and(|rest| rest.starts_with('<') && rest.ends_with('>'))
        };
        let mut all = self.name.iter().chain(&self.linkage);
        all.any(|name| name == string || is_template(name))
    }
}

/// Returns true if an entry belongs in an index when it has a name.
fn is_wanted(die: &Die<'_>) -> bool {
    !NOT_INDEXED.contains(&die.tag()) && !die.flag(dw::DW_AT_declaration)
}
