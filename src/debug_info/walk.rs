//! Walking over entries, and along the references from an entry to what it completes.
//!
//! A walk is a loop over the bytes of a unit: how deep entries nest costs nothing. It leaves to others
//! what to do with an entry. Sources: DWARF 5 §2.3, §2.13, §3.3.8.

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

/// How many references an entry may be away from the one that completes it. Real chains have two: an
/// out-of-line instance, its abstract instance, and the declaration in a class.
const CHAIN: usize = 8;

/// A walk over an entry and everything below it. The entry it starts with has depth 0.
#[derive(Debug)]
pub(super) struct Walk<'d, 'a> {
    info: &'d DebugInfo<'a>,
    gimli: &'d gimli::Unit<Bytes<'a>>,
    raw: gimli::EntriesRaw<'d, Bytes<'a>>,
    /// What to add to the depths that `raw` gives.
    base: isize,
    /// The entry that was read last.
    die: Die<'a>,
    started: bool,
    /// Entries read that nobody has paid for.
    unpaid: u64,
}

impl<'d, 'a> Walk<'d, 'a> {
    /// Returns the next entry, null entries too; nothing at the end. After an error there is nothing more.
    pub(super) fn next(&mut self) -> Result<Option<&gimli::DebuggingInformationEntry<Bytes<'a>>>> {
        self.next_with(|_| true)
    }

    /// Returns the same, without the attributes of entries for whose abbreviation `wanted` does not ask for them.
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

    /// Returns the same, without the attributes of entries for whose abbreviation `wanted` does not ask for them.
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

    /// Passes over what is below the entry that was read last.
    pub(super) fn skip_children(&mut self) -> Result<()> {
        if !self.die.has_children() {
            return Ok(());
        }
        let depth = self.die.entry.depth;
        let sibling = self.die.entry.attr_value(constants::DW_AT_sibling);
        // Forward only: a sibling that lies before it would make the walk endless.
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

    /// Pays for what was read since the last time.
    pub(super) fn pay(&mut self, meter: &Meter) -> Result<()> {
        meter.work(core::mem::take(&mut self.unpaid))
    }

    /// Returns the entry that was read last.
    pub(super) fn entry(&self) -> &gimli::DebuggingInformationEntry<Bytes<'a>> {
        &self.die.entry
    }

    /// Where the entry that was read last is.
    pub(super) fn id(&self) -> DieId {
        self.die.id()
    }

    /// Returns the entry that was read last, to keep.
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
    /// Returns the next child. Everything that is read on the way, also what is below the child before it, is
    /// paid for.
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

    /// Returns the next entry, as [`next`](FallibleIterator::next) gives it, which is lent: it is overwritten by the one after it.
    /// Nothing is copied.
    ///
    /// # Errors
    /// As for [`next`](FallibleIterator::next).
    pub fn next_ref(&mut self) -> Result<Option<&Die<'a>>> {
        let found = self.walk.next()?.is_some();
        Ok(found.then_some(&self.walk.die))
    }

    /// Passes over what is below the entry that was given last.
    ///
    /// # Errors
    /// If an entry that is passed over is malformed.
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

/// An entry and those it completes: a concrete instance, the abstract instance it is of, a declaration.
/// The entry itself comes first.
#[derive(Debug)]
pub(super) struct Chain<'a>(SmallVec<[Die<'a>; 2]>);

impl<'a> Chain<'a> {
    /// Returns the first of the entries that has the attribute, with the attribute.
    pub(super) fn find(&self, name: DwAt) -> Option<(&Die<'a>, &gimli::Attribute<Bytes<'a>>)> {
        self.entries()
            .find_map(|die| Some((die, die.attribute(name)?)))
    }

    /// Returns the same for an attribute of HET.
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

    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Die<'a>> {
        self.0.iter()
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns all entries of a unit in the order of the section, null entries too. The first has depth 0.
    ///
    /// # Errors
    /// If there is no such unit, or it is malformed. The iterator ends with its first error.
    pub fn dies(&self, unit: UnitId) -> Result<Dies<'_, 'a>> {
        let root = self.contents(unit)?.root.id();
        self.subtree(root)
    }

    /// Returns the entry at `id`, depth 0, and everything below it, null entries too.
    ///
    /// # Errors
    /// If there is no such unit, or it is malformed. The iterator ends with its first error.
    pub fn subtree(&self, id: DieId) -> Result<Dies<'_, 'a>> {
        self.walk(id).map(Dies::new)
    }

    /// Starts to walk over the entry at `id` and everything below it.
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

    /// Returns the entry with those it completes. A reference that leads nowhere, or in a circle, ends it: what
    /// the entry itself says is worth having.
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

    /// What an attribute says that the entry or one that it completes has.
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

    /// Returns the text of such an attribute. `None` if it cannot be read.
    pub(super) fn chain_string(&self, chain: &Chain<'a>, name: DwAt) -> Option<Cow<'a, str>> {
        let (die, attribute) = chain.find(name)?;
        self.string_of(die, attribute)
    }

    /// The name the linker uses.
    pub(super) fn linkage_name(&self, chain: &Chain<'a>) -> Option<Cow<'a, str>> {
        self.chain_string(chain, constants::DW_AT_linkage_name)
            .or_else(|| self.chain_string(chain, constants::DW_AT_MIPS_linkage_name))
    }

    /// Returns the name for the linker of the function that an entry is, or is an instance of.
    pub(crate) fn linkage_name_of(&self, id: DieId) -> Option<Cow<'a, str>> {
        self.linkage_name(&self.chain(self.die(id).ok()?))
    }

    /// Returns the entry that `DW_AT_type` names.
    pub(super) fn type_of(&self, chain: &Chain<'a>) -> Result<Option<DieId>> {
        match chain.find(constants::DW_AT_type) {
            Some((die, attribute)) => self.target(die, attribute),
            None => Ok(None),
        }
    }
}
