//! Checks indices in attributes, and the range lists to which some of them lead. Sources: DWARF 5 §7.5.5, §7.26 to §7.29.

use gimli::AttributeValue;
use gimli::constants::{DW_AT_ranges, DW_AT_start_scope};

use super::{UnitCheck, malformed};
use crate::debug_info::{Bytes, Die, DieValue, IndexFault, IndexTable, index_of};
use crate::verify::finding::Finding;
use crate::verify::rule::rules;

rules! {
    BASE "index-base" Error "DWARF 5 §3.1.1"
        "a unit uses indices without a table for them"
        "DW_AT_str_offsets_base, DW_AT_addr_base, DW_AT_loclists_base and DW_AT_rnglists_base give the start of the unit's entries in the \
         section. It directly follows a header with the version, address size and format of the unit. If the attribute is missing or wrong, \
         readers use wrong offsets or addresses, or give up.";
    OUTSIDE "index-outside" Error "DWARF 5 §7.5.5"
        "an index is outside of the unit's table"
        "DW_FORM_strx, DW_FORM_addrx, DW_FORM_loclistx and DW_FORM_rnglistx count the entries of the unit's part of a section. After its end \
         come the lists of this unit or the entries of the next. Readers that do not check the index show the string, address or location of \
         something else.";
    LIST_OUTSIDE "index-list-outside" Error "DWARF 5 §7.28"
        "an index leads to a list outside of the unit's part of the section"
        "Offsets count from the first offset of the table. The lists lie between the last offset and the end given in the header.";
    RANGES "range-list" Error "DWARF 5 §7.28"
        "a range list cannot be read to its end"
        "Its offset is outside the section, an entry has an undefined kind or an index without an address, or the section ends before the list \
         does. The code from there on belongs to nothing.";
}

impl<'a> UnitCheck<'_, '_, 'a> {
    /// Checks an attribute that is an index. Returns true if it can be followed.
    pub(super) fn index(
        &mut self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        raw: &AttributeValue<Bytes<'a>>,
    ) -> bool {
        let Some((table, index)) = index_of(raw) else {
            return true;
        };
        // An unreadable unit is reported with its entries.
        let Ok(Err(fault)) = self.info.check_index(self.id, table, index) else {
            return true;
        };
        if self.has_no_skeleton && table == IndexTable::Addresses {
            return false;
        }
        let rule = match fault {
            IndexFault::NoBase(table) | IndexFault::NoTable(table, _) => {
                if !self.has_reported(table) {
                    let text = format!("{fault}; {} has an index", self.label(die, attribute));
                    self.findings
                        .add(Finding::new(&BASE, self.section, text).at(self.span.start));
                }
                return false;
            }
            IndexFault::Outside { .. } => &OUTSIDE,
            IndexFault::ListOutside { .. } => &LIST_OUTSIDE,
        };
        let text = format!("{}: {fault}", self.label(die, attribute));
        let mut finding = Finding::new(rule, self.section, text).at(die.id().offset);
        finding.function = self.function_name();
        self.findings.add(finding);
        false
    }

    /// Returns true if the missing table was already reported, and marks it as reported.
    fn has_reported(&mut self, table: IndexTable) -> bool {
        let found = IndexTable::ALL.iter().position(|other| *other == table);
        let said = found.and_then(|at| self.bad_tables.get_mut(at));
        said.is_none_or(|said| core::mem::replace(said, true))
    }

    /// Checks that a range list can be read, once for each unit.
    pub(super) fn range_list(&mut self, die: &Die<'a>, attribute: &gimli::Attribute<Bytes<'a>>) {
        if ![DW_AT_ranges, DW_AT_start_scope].contains(&attribute.name()) {
            return;
        }
        let offset = match self.info.value(die, attribute) {
            Ok(DieValue::RangeList(offset)) => offset,
            Ok(_) => return,
            Err(error) => return self.bad_ranges(die, attribute, &error),
        };
        if self.has_no_skeleton || !self.kept.range_lists.insert(offset) {
            return;
        }
        let info = self.info;
        let read = info.for_each_in_list(die.id(), offset, info.meter(), |_| false);
        match read {
            Err(error) if !error.is_limit() => self.bad_ranges(die, attribute, &error),
            Ok(_) | Err(_) => {}
        }
    }

    fn bad_ranges(
        &mut self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        error: &crate::Error,
    ) {
        let mut finding = malformed(&RANGES, self.section, error);
        let label = self.label(die, attribute);
        finding.message = format!("{label}: {}", finding.message.raw()).into();
        self.findings.add(finding);
    }
}
