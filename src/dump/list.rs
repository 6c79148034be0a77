//! Location lists as they are encoded: entry by entry, without what only a unit knows.
//!
//! The library's [`location_list`](crate::debug_info::DebugInfo::location_list) gives entries with their
//! addresses. This one reads sections that no unit refers to, and lists of `.dwo` files whose code object
//! is not there. Sources: DWARF 5 §7.7.3, §7.29; DWARF 4 §2.6.2.

use core::ops::Range;

use smallvec::SmallVec;

use super::digits::push_hex;
use crate::error::{Error, Result};
use crate::expr::Cursor;

/// A kind of operand of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    /// Unsigned LEB128: an index, an offset or a length.
    Number,
    /// An address.
    Address,
}

use Operand::{Address, Number};

/// Code, name, operands, and whether an expression follows.
#[rustfmt::skip]
const KINDS: &[(u8, &str, &[Operand], bool)] = &[
    (0x00, "DW_LLE_end_of_list",      &[],                 false),
    (0x01, "DW_LLE_base_addressx",    &[Number],           false),
    (0x02, "DW_LLE_startx_endx",      &[Number, Number],   true),
    (0x03, "DW_LLE_startx_length",    &[Number, Number],   true),
    (0x04, "DW_LLE_offset_pair",      &[Number, Number],   true),
    (0x05, "DW_LLE_default_location", &[],                 true),
    (0x06, "DW_LLE_base_address",     &[Address],          false),
    (0x07, "DW_LLE_start_end",        &[Address, Address], true),
    (0x08, "DW_LLE_start_length",     &[Address, Number],  true),
    // GNU's: the views of the two ends of the next entry.
    (0x09, VIEW_PAIR,                 &[Number, Number],   false),
];

const VIEW_PAIR: &str = "DW_LLE_GNU_view_pair";

/// An entry of a list.
#[derive(Clone, Debug)]
pub(super) struct RawEntry<'a> {
    /// `DW_LLE_…`; empty for lists from before DWARF 5, whose entries have no kinds.
    pub(super) kind: &'static str,
    pub(super) operands: SmallVec<[u64; 2]>,
    /// The addresses, where they can be told without a unit.
    pub(super) range: Option<Range<u64>>,
    pub(super) expression: Option<&'a [u8]>,
}

impl RawEntry<'_> {
    /// Whether it holds wherever no other entry does.
    pub(super) fn is_default(&self) -> bool {
        self.kind == "DW_LLE_default_location"
    }

    /// Whether it only sets the base address, and says it in full.
    pub(super) fn is_base(&self) -> bool {
        self.expression.is_none() && self.kind != "DW_LLE_base_addressx" && !self.is_view_pair()
    }

    /// Whether it only says which rows of the line table the ends of the next entry mean.
    pub(super) fn is_view_pair(&self) -> bool {
        self.kind == VIEW_PAIR
    }

    /// The entry up to its expression. `size` is that of an address, in bytes.
    pub(super) fn text(&self, size: u8) -> String {
        if let Some(range) = &self.range {
            return range_text(range, size);
        }
        if self.is_default() {
            return "<default>".to_owned();
        }
        let operands: Vec<String> = self.operands.iter().map(|n| address(*n, size)).collect();
        let operands = operands.join(", ");
        if self.kind.is_empty() {
            return format!("({operands})");
        }
        format!("{:<23}({operands})", self.kind)
    }
}

/// An address as wide as addresses are.
pub(super) fn address(value: u64, size: u8) -> String {
    let digits = usize::from(size).saturating_mul(2);
    let mut text = String::with_capacity(digits.saturating_add(2));
    push_hex(&mut text, value, digits);
    text
}

/// A half open range of addresses.
pub(super) fn range_text(range: &Range<u64>, size: u8) -> String {
    format!(
        "[{}, {})",
        address(range.start, size),
        address(range.end, size)
    )
}

/// A list that is being read.
pub(super) struct RawList<'a> {
    cursor: Cursor<'a>,
    section: &'static str,
    start: u64,
    address_size: u8,
    /// Whether it is from before DWARF 5.
    old: bool,
    base: Option<u64>,
    done: bool,
}

impl<'a> RawList<'a> {
    /// The list at `start` of a section; `bytes` is the section, or the part of it the list must be in.
    pub(super) fn new(
        bytes: &'a [u8],
        section: &'static str,
        start: u64,
        address_size: u8,
        old: bool,
    ) -> RawList<'a> {
        let start_in = usize::try_from(start).unwrap_or(usize::MAX);
        RawList {
            cursor: Cursor::new(bytes.get(start_in..).unwrap_or_default()),
            section,
            start,
            address_size,
            old,
            base: None,
            done: false,
        }
    }

    /// Where the next byte to read is.
    pub(super) fn offset(&self) -> u64 {
        self.start.saturating_add(self.cursor.position() as u64)
    }

    /// The next entry but the one that ends the list; after an error there is nothing more.
    pub(super) fn next(&mut self) -> Result<Option<RawEntry<'a>>> {
        if self.done {
            return Ok(None);
        }
        let offset = self.offset();
        let entry = if self.old {
            self.old_entry()
        } else {
            self.entry()
        };
        match &entry {
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => self.done = true,
        }
        entry.map_err(|error| error.within(self.section, offset))
    }

    fn entry(&mut self) -> Result<Option<RawEntry<'a>>> {
        let code = self.cursor.u8()?;
        let found = KINDS.iter().find(|(known, ..)| *known == code);
        let Some((_, kind, operand_kinds, has_expression)) = found else {
            let reason = format!("there is no kind {code:#04x}");
            return Err(Error::malformed("location list entry", reason));
        };
        if code == 0 {
            return Ok(None);
        }
        let mut operands = SmallVec::new();
        for operand in *operand_kinds {
            operands.push(match operand {
                Number => self.cursor.uleb()?,
                Address => self.cursor.sized(self.address_size)?,
            });
        }
        let expression = if *has_expression {
            let size = self.cursor.uleb()?;
            Some(self.cursor.bytes(size)?)
        } else {
            None
        };
        let range = match (*kind, operands.as_slice()) {
            ("DW_LLE_base_address", [base]) => {
                self.base = Some(*base);
                None
            }
            ("DW_LLE_base_addressx", _) => {
                self.base = None;
                None
            }
            ("DW_LLE_offset_pair", [start, end]) => self
                .base
                .map(|base| base.wrapping_add(*start)..base.wrapping_add(*end)),
            ("DW_LLE_start_end", [start, end]) => Some(*start..*end),
            ("DW_LLE_start_length", [start, length]) => Some(*start..start.wrapping_add(*length)),
            _ => None,
        };
        Ok(Some(RawEntry {
            kind,
            operands,
            range,
            expression,
        }))
    }

    fn old_entry(&mut self) -> Result<Option<RawEntry<'a>>> {
        let start = self.cursor.sized(self.address_size)?;
        let end = self.cursor.sized(self.address_size)?;
        if start == 0 && end == 0 {
            return Ok(None);
        }
        let highest = u64::MAX
            >> 64u32
                .saturating_sub(u32::from(self.address_size).saturating_mul(8))
                .min(63);
        if start == highest {
            self.base = Some(end);
            return Ok(Some(RawEntry {
                kind: "",
                operands: SmallVec::from_slice(&[start, end]),
                range: None,
                expression: None,
            }));
        }
        let size = self.cursor.u16()?;
        let expression = self.cursor.bytes(size.into())?;
        Ok(Some(RawEntry {
            kind: "",
            operands: SmallVec::from_slice(&[start, end]),
            range: self
                .base
                .map(|base| base.wrapping_add(start)..base.wrapping_add(end)),
            expression: Some(expression),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8], size: u8, old: bool) -> (Vec<String>, Option<Error>) {
        let mut list = RawList::new(bytes, ".debug_loclists", 0, size, old);
        let mut texts = Vec::new();
        loop {
            match list.next() {
                Ok(Some(entry)) => texts.push(entry.text(size)),
                Ok(None) => return (texts, None),
                Err(error) => return (texts, Some(error)),
            }
        }
    }

    // DWARF 5 §7.7.3: the kinds by their codes, each with an expression of one byte where it has one.
    #[test]
    fn every_kind_of_entry() {
        #[rustfmt::skip]
        let bytes = [
            0x04, 0x10, 0x20, 1, 0x30,
            0x06, 0x00, 0x10, 0, 0,
            0x04, 0x10, 0x20, 1, 0x30,
            0x05, 1, 0x31,
            0x07, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0x30,
            0x08, 1, 0, 0, 0, 4, 1, 0x30,
            0x01, 7,
            0x02, 3, 4, 1, 0x30,
            0x03, 3, 4, 1, 0x30,
            0x09, 0x81, 0x01, 0x02,
            0x00, 0x99,
        ];
        let (found, error) = texts(&bytes, 4, false);
        assert_eq!(error, None);
        let expected = [
            "DW_LLE_offset_pair     (0x00000010, 0x00000020)",
            "DW_LLE_base_address    (0x00001000)",
            "[0x00001010, 0x00001020)",
            "<default>",
            "[0x00000001, 0x00000002)",
            "[0x00000001, 0x00000005)",
            "DW_LLE_base_addressx   (0x00000007)",
            "DW_LLE_startx_endx     (0x00000003, 0x00000004)",
            "DW_LLE_startx_length   (0x00000003, 0x00000004)",
            "DW_LLE_GNU_view_pair   (0x00000081, 0x00000002)",
        ];
        assert_eq!(found, expected);
    }

    // DWARF 4 §2.6.2: an entry that starts at the highest address selects a base.
    #[test]
    fn entries_before_dwarf_5() {
        let words: [u32; 4] = [0x10, 0x20, u32::MAX, 0x1000];
        let mut bytes: Vec<u8> = words[..2].iter().flat_map(|w| w.to_le_bytes()).collect();
        bytes.extend([1, 0, 0x30]);
        bytes.extend(words[2..].iter().flat_map(|w| w.to_le_bytes()));
        let again = bytes[..11].to_vec();
        bytes.extend(again);
        bytes.extend([0; 8]);
        let (found, error) = texts(&bytes, 4, true);
        assert_eq!(error, None);
        assert_eq!(found[0], "(0x00000010, 0x00000020)");
        assert_eq!(found[2], "[0x00001010, 0x00001020)");
    }

    #[test]
    fn what_is_cut_short_or_unknown_ends_the_list() {
        let (found, error) = texts(&[0x05, 1, 0x31, 0x05, 9, 0x31], 8, false);
        assert_eq!(found, ["<default>"]);
        assert_eq!(error.unwrap().origin().unwrap().offset, 3);
        assert!(texts(&[0x77], 8, false).1.is_some());
    }
}
