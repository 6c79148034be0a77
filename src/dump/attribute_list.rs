//! Reads the entries of the lists to which attributes refer.

use core::ops::Range;

use fallible_iterator::FallibleIterator;
use gimli::constants as dw;

use super::Naming;
use super::attribute::{Attributes, BaseTypes, ListItem};
use super::list::{List, operations_text, range_text};
use super::unit_facts::UnitFacts;
use crate::debug_info::raw_list::LocationFormat;
use crate::debug_info::{Die, LocationRange};
use crate::error::Result;
use crate::expr::Printer;

impl<'a> Attributes<'_, 'a> {
    /// Returns true if a unit has a base address for its DWARF 4 lists.
    fn has_base(&self, unit: UnitFacts) -> bool {
        let Ok(root) = self.info.root(unit.id) else {
            return true;
        };
        let bases = [dw::DW_AT_low_pc, dw::DW_AT_entry_pc];
        unit.version >= 5 || unit.split || bases.iter().any(|name| root.attribute(*name).is_some())
    }

    /// Collects the ranges of the list at `offset`, including empty ones and ranges of discarded code. The ranges before an error are kept.
    pub(super) fn ranges(
        &self,
        unit: UnitFacts,
        die: &Die<'a>,
        offset: u64,
        items: &mut Vec<ListItem<'a>>,
    ) -> Result<()> {
        let mut notes = self.notes(self.sections_of_ranges(unit, offset));
        let mut item = |range: Range<u64>| ListItem {
            head: range_text(&range, unit.address_size) + &notes.next().unwrap_or_default(),
            range: Some(range),
            expression: None,
        };
        let read = self
            .info
            .for_each_listed(die.id(), offset, self.meter, |listed| {
                items.push(item(listed.range));
                false
            });
        read.map(drop::<bool>)
    }

    /// Collects the entries of the location list at `offset`. The entries before an error are kept.
    pub(super) fn locations(
        &self,
        unit: UnitFacts,
        offset: u64,
        items: &mut Vec<ListItem<'a>>,
    ) -> Result<()> {
        if unit.alone || (self.style.naming == Naming::Llvm && !self.has_base(unit)) {
            return self.raw_locations(unit, offset, items);
        }
        let mut list = (self.info).location_list(unit.id, offset, self.meter)?;
        let mut notes = self.notes(self.sections_of_locations(unit, offset));
        let first = items.len();
        loop {
            let entry = match list.next() {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(error) if self.is_quiet() => {
                    // llvm-dwarfdump prints an entry that it cannot resolve in its encoded form.
                    let mut raw = Vec::new();
                    let read = self.raw_locations(unit, offset, &mut raw);
                    // Entries that only set a base are skipped.
                    raw.retain(|item| item.expression.is_some());
                    let read_before = items.len().saturating_sub(first);
                    items.extend(raw.into_iter().skip(read_before));
                    return read.and(Err(error));
                }
                Err(error) => return Err(error),
            };
            let note = notes.next().unwrap_or_default();
            let (head, range) = match entry.range {
                LocationRange::Bounded(range) => {
                    (range_text(&range, unit.address_size) + &note, Some(range))
                }
                LocationRange::Default => ("<default>".to_owned(), None),
            };
            let (section, at) = (entry.expression.section, Some(entry.expression.offset));
            let section = section.trim_end_matches(".dwo");
            let bytes = (self.sources).stored(unit.split, section, at, entry.expression.bytes);
            let text = self.expression(unit, bytes, entry.expression.unit.encoding);
            items.push(ListItem {
                head,
                range,
                expression: Some((text, entry.expression.bytes)),
            });
        }
        Ok(())
    }

    /// Collects the entries of the location list at `offset` without addresses, which are in a missing code object.
    fn raw_locations(
        &self,
        unit: UnitFacts,
        offset: u64,
        items: &mut Vec<ListItem<'a>>,
    ) -> Result<()> {
        let format = LocationFormat::of(unit.version, unit.split);
        // A unit without a code object is in a `.dwo` file.
        let (name, section) = match format {
            LocationFormat::Kinds => (".debug_loclists", ".debug_loclists.dwo"),
            LocationFormat::Pairs | LocationFormat::GnuSplit => (".debug_loc", ".debug_loc.dwo"),
        };
        let bytes = self.sources.section(unit.split, name)?;
        let mut list = List::new(section, bytes, offset, format, unit.address_size)?;
        let encoding = self.info.eval_unit(unit.id)?.encoding;
        let types = BaseTypes {
            info: self.info,
            unit,
        };
        let printer = Printer::new(encoding)
            .style(self.style.registers())
            .names(&types);
        while let Some(entry) = list.next_within(self.meter)? {
            if entry.is_base() || entry.is_view_pair() {
                continue;
            }
            items.push(ListItem {
                head: entry.text(unit.address_size),
                range: entry.range.clone(),
                expression: entry
                    .expression()
                    .map(|bytes| (operations_text(&printer, bytes), bytes)),
            });
        }
        Ok(())
    }
}
