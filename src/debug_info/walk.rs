//! Walks over entries, and along the references from an entry to the entries that it completes.
//!
//! A walk is a loop over the bytes of a unit, so the nesting depth of entries costs nothing. Interpreting an entry is left to the callers. Sources:
//! DWARF 5 §2.3, §2.13, §3.3.8.

use std::borrow::Cow;

use fallible_iterator::FallibleIterator;
use gimli::{AttributeValue, DwAt, UnitOffset, constants};
use smallvec::SmallVec;

use super::attribute::Extension;
use super::die::Die;
use super::id::{DieId, UnitId};
use super::value::DieValue;
use super::{Bytes, DebugInfo};
use crate::error::{Error, Result};
use crate::meter::Meter;

/// The maximum number of references between an entry and one that it completes. Real chains have two: from an out-of-line instance to its abstract
/// instance, and to the declaration in a class.
const CHAIN: usize = 8;

/// A walk over an entry and its descendants. The first entry has depth 0.
#[derive(Debug)]
pub(super) struct Walk<'d, 'a> {
    info: &'d DebugInfo<'a>,
    gimli: &'d gimli::Unit<Bytes<'a>>,
    raw: gimli::EntriesRaw<'d, Bytes<'a>>,
    /// The offset to add to the depths from `raw`.
    base: isize,
    /// The entry read last.
    die: Die<'a>,
    started: bool,
    /// The number of entries read but not yet charged.
    unpaid: u64,
}

impl<'d, 'a> Walk<'d, 'a> {
    /// Returns the next entry, including null entries, or `None` at the end and after an error.
    pub(super) fn next(&mut self) -> Result<Option<&gimli::DebuggingInformationEntry<Bytes<'a>>>> {
        self.next_with(|_| true)
    }

    /// Returns the next entry, including null entries. Attributes are left out if `wanted` returns false for the abbreviation.
    fn next_with(
        &mut self,
        wanted: impl FnOnce(&gimli::Abbreviation) -> bool,
    ) -> Result<Option<&gimli::DebuggingInformationEntry<Bytes<'a>>>> {
        let depth = self.raw.next_depth().saturating_add(self.base);
        if self.raw.is_empty() || (self.started && depth <= 0) {
            return Ok(None);
        }
        self.started = true;
        self.unpaid = self.unpaid.saturating_add(1);
        self.die.entry.offset = self.raw.next_offset();
        let id = self.die.id();
        let entry = &mut self.die.entry;
        match self.info.read_entry_with(id, &mut self.raw, entry, wanted) {
            Ok(()) => {
                entry.depth = depth;
                Ok(Some(entry))
            }
            Err(error) => {
                self.base = isize::MIN;
                Err(error)
            }
        }
    }

    /// Returns the next entry that is not null.
    pub(super) fn next_entry(
        &mut self,
    ) -> Result<Option<&gimli::DebuggingInformationEntry<Bytes<'a>>>> {
        self.next_entry_with(|_| true)
    }

    /// Returns the next entry that is not null. Attributes are left out if `wanted` returns false for the abbreviation.
    pub(super) fn next_entry_with(
        &mut self,
        wanted: fn(&gimli::Abbreviation) -> bool,
    ) -> Result<Option<&gimli::DebuggingInformationEntry<Bytes<'a>>>> {
        while self.next_with(wanted)?.is_some() {
            if !self.die.is_null() {
                return Ok(Some(&self.die.entry));
            }
        }
        Ok(None)
    }

    /// Skips the descendants of the entry read last.
    pub(super) fn skip_children(&mut self) -> Result<()> {
        if !self.die.has_children() {
            return Ok(());
        }
        let depth = self.die.entry.depth;
        let sibling = self.die.entry.attr_value(constants::DW_AT_sibling);
        // Forward only: a sibling before this entry would make the walk endless.
        if let Some(AttributeValue::UnitRef(sibling)) = sibling
            && sibling > self.raw.next_offset()
            && let Ok(raw) = self.gimli.entries_raw(Some(sibling))
        {
            self.raw = raw;
            self.base = depth;
            return Ok(());
        }
        while self.raw.next_depth().saturating_add(self.base) > depth {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Charges for the entries read since the last call.
    pub(super) fn pay(&mut self, meter: &Meter) -> Result<()> {
        meter.work(core::mem::take(&mut self.unpaid))
    }

    /// Returns the entry read last.
    pub(super) fn entry(&self) -> &gimli::DebuggingInformationEntry<Bytes<'a>> {
        &self.die.entry
    }

    /// Returns the identity of the entry read last.
    pub(super) fn id(&self) -> DieId {
        self.die.id()
    }

    /// Returns the entry read last, as an owned value.
    pub(super) fn die(&self) -> Die<'a> {
        self.die.clone()
    }
}

/// The direct children of an entry, without null entries.
#[derive(Debug)]
pub(super) struct Children<'d, 'a> {
    walk: Walk<'d, 'a>,
}

impl<'a> Children<'_, 'a> {
    /// Returns the next child, and charges for everything read on the way, including the descendants of the previous child.
    pub(super) fn next(&mut self, meter: &Meter) -> Result<Option<Die<'a>>> {
        if self.walk.started {
            if self.walk.die.depth() > 0 {
                self.walk.skip_children()?;
            }
        } else {
            self.walk.next()?;
        }
        let found = self.walk.next_entry()?.is_some();
        self.walk.pay(meter)?;
        Ok(found.then(|| self.walk.die()))
    }
}

/// Entries in the order of their section; see [`DebugInfo::dies`].
#[derive(Debug)]
pub struct Dies<'d, 'a> {
    walk: Walk<'d, 'a>,
}

impl<'d, 'a> Dies<'d, 'a> {
    pub(super) fn new(walk: Walk<'d, 'a>) -> Self {
        Dies { walk }
    }

    /// Returns a reference to the entry that [`next`](FallibleIterator::next) would return. The following entry overwrites it, and nothing is copied.
    ///
    /// # Errors
    /// Fails like [`next`](FallibleIterator::next).
    pub fn next_ref(&mut self) -> Result<Option<&Die<'a>>> {
        let found = self.walk.next()?.is_some();
        Ok(found.then_some(&self.walk.die))
    }

    /// Skips the descendants of the entry returned last.
    ///
    /// # Errors
    /// If a skipped entry is malformed.
    pub fn skip_children(&mut self) -> Result<()> {
        self.walk.skip_children()
    }
}

impl<'a> FallibleIterator for Dies<'_, 'a> {
    type Item = Die<'a>;
    type Error = Error;

    fn next(&mut self) -> Result<Option<Die<'a>>> {
        Ok(match self.walk.next()? {
            Some(_) => Some(self.walk.die()),
            None => None,
        })
    }
}

/// An entry followed by the entries it completes: a concrete instance, its abstract instance, a declaration.
#[derive(Debug)]
pub(super) struct Chain<'a>(SmallVec<[Die<'a>; 2]>);

impl<'a> Chain<'a> {
    /// Returns the first of the entries that has the attribute, with the attribute.
    pub(super) fn find(&self, name: DwAt) -> Option<(&Die<'a>, &gimli::Attribute<Bytes<'a>>)> {
        self.entries()
            .find_map(|die| Some((die, die.attribute(name)?)))
    }

    /// Returns the first of the entries that has the HET attribute, with the attribute.
    pub(super) fn find_extension(
        &self,
        extension: Extension,
    ) -> Option<(&Die<'a>, &gimli::Attribute<Bytes<'a>>)> {
        self.entries()
            .find_map(|die| Some((die, die.extension(extension)?)))
    }

    /// Returns true if any of the entries has the flag.
    pub(super) fn flag(&self, name: DwAt) -> bool {
        self.entries().any(|die| die.flag(name))
    }

    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Die<'a>> + ExactSizeIterator {
        self.0.iter()
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns all entries of a unit in the order of the section, including null entries. The first has depth 0.
    ///
    /// # Errors
    /// If there is no such unit, or it is malformed. The iterator ends with its first error.
    pub fn dies(&self, unit: UnitId) -> Result<Dies<'_, 'a>> {
        let root = self.contents(unit)?.root.id();
        self.subtree(root)
    }

    /// Returns the entry at `id`, depth 0, and its descendants, including null entries.
    ///
    /// # Errors
    /// If there is no such unit, or it is malformed. The iterator ends with its first error.
    pub fn subtree(&self, id: DieId) -> Result<Dies<'_, 'a>> {
        self.walk(id).map(Dies::new)
    }

    /// Starts a walk over the entry at `id` and its descendants.
    pub(super) fn walk(&self, id: DieId) -> Result<Walk<'_, 'a>> {
        let entry = self.entry(id.unit)?;
        let unit = &self.contents(id.unit)?.gimli;
        let offset = usize::try_from(id.offset)
            .ok()
            .and_then(|offset| offset.checked_sub(entry.offset()))
            .map(UnitOffset)
            .ok_or(gimli::Error::OffsetOutOfBounds(id.offset));
        let raw = offset
            .and_then(|offset| unit.entries_raw(Some(offset)))
            .map_err(|error| self.unit_error("entry", id, error))?;
        Ok(Walk {
            info: self,
            gimli: unit,
            raw,
            base: 0,
            die: Die::new(
                id.unit,
                entry.offset(),
                gimli::DebuggingInformationEntry::null(),
            ),
            started: false,
            unpaid: 0,
        })
    }

    /// Returns the direct children of the entry at `id`.
    pub(super) fn children(&self, id: DieId) -> Result<Children<'_, 'a>> {
        Ok(Children {
            walk: self.walk(id)?,
        })
    }

    /// Returns the entry with those it completes. An invalid or cyclic reference ends the chain, since the attributes of the entry itself remain
    /// usable.
    pub(super) fn chain(&self, die: Die<'a>) -> Chain<'a> {
        let mut chain = SmallVec::new();
        let mut next = Some(die);
        while let Some(die) = next.take() {
            if chain.len() < CHAIN {
                let origin = die
                    .attribute(constants::DW_AT_abstract_origin)
                    .or_else(|| die.attribute(constants::DW_AT_specification))
                    .or_else(|| die.attribute(constants::DW_AT_extension));
                if let Some(origin) = origin
                    && let Ok(Some(id)) = self.target(&die, origin)
                {
                    next = self.die(id).ok();
                }
            }
            chain.push(die);
        }
        Chain(chain)
    }

    /// Returns the value of an attribute of the entry or of one that it completes.
    pub(super) fn chain_value(
        &self,
        chain: &Chain<'a>,
        name: DwAt,
    ) -> Result<Option<DieValue<'a>>> {
        match chain.find(name) {
            Some((die, attribute)) => self.value(die, attribute).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the text of an attribute of the entry or of one that it completes, or `None` if it cannot be read.
    pub(super) fn chain_string(&self, chain: &Chain<'a>, name: DwAt) -> Option<Cow<'a, str>> {
        let (die, attribute) = chain.find(name)?;
        self.string_of(die, attribute)
    }

    /// Returns the linkage name.
    pub(super) fn linkage_name(&self, chain: &Chain<'a>) -> Option<Cow<'a, str>> {
        self.chain_string(chain, constants::DW_AT_linkage_name)
            .or_else(|| self.chain_string(chain, constants::DW_AT_MIPS_linkage_name))
    }

    /// Returns the name of an entry, or of the entry that it completes. The name of a class may be in its type unit.
    pub(crate) fn completed_name(&self, id: DieId) -> Option<Cow<'a, str>> {
        let die = self.die(id).ok()?;
        let definition = self.definition(&die);
        let name = self.chain_string(&self.chain(die), constants::DW_AT_name);
        name.or_else(|| {
            let definition = self.die(definition?).ok()?;
            self.string_of(&definition, definition.attribute(constants::DW_AT_name)?)
        })
    }

    /// Returns true if an entry is `origin`, or completes it.
    pub(crate) fn is_instance_of(&self, id: DieId, origin: DieId) -> bool {
        let chain = self.die(id).map(|die| self.chain(die));
        chain.is_ok_and(|chain| chain.entries().any(|die| die.id() == origin))
    }

    /// Returns the entries that an entry completes.
    pub(crate) fn completed_entries(&self, id: DieId) -> Vec<DieId> {
        let chain = self.die(id).map(|die| self.chain(die));
        chain.map_or_else(
            |_| Vec::new(),
            |chain| chain.entries().skip(1).map(Die::id).collect(),
        )
    }

    /// Returns the linkage name of the function that an entry is, or is an instance of.
    pub(crate) fn linkage_name_of(&self, id: DieId) -> Option<Cow<'a, str>> {
        self.linkage_name(&self.chain(self.die(id).ok()?))
    }

    /// Returns the entry in `DW_AT_type`.
    pub(super) fn type_of(&self, chain: &Chain<'a>) -> Result<Option<DieId>> {
        match chain.find(constants::DW_AT_type) {
            Some((die, attribute)) => self.target(die, attribute),
            None => Ok(None),
        }
    }
}
