//! Formats entries of location lists in their encoded form, without data from a unit.
//!
//! This is for sections that no unit refers to, and lists of `.dwo` files whose code object is missing.

use core::ops::Range;

use crate::debug_info::raw_list::{
    Base, Bounds, LocationFormat, RawLocation, RawLocations, highest,
};
use crate::display::push_hex;
use crate::error::{Error, Result};
use crate::expr::Printer;
use crate::meter::Meter;

/// An entry of a list.
#[derive(Clone, Debug)]
pub(super) struct ListEntry<'a> {
    pub(super) raw: RawLocation<'a>,
    /// The addresses, if they are known without a unit.
    pub(super) range: Option<Range<u64>>,
}

impl<'a> ListEntry<'a> {
    /// `DW_LLE_…`, or empty for lists from before DWARF 5, whose entries have no kinds.
    pub(super) fn kind(&self) -> &'static str {
        let kind = self.raw.kind.and_then(|kind| kind.static_string());
        kind.unwrap_or_default()
    }

    /// Returns the encoded numbers of the entry, for addresses of the given size in bytes.
    pub(super) fn operands(&self, size: u8) -> impl Iterator<Item = u64> {
        operands(&self.raw, size)
    }

    pub(super) fn expression(&self) -> Option<&'a [u8]> {
        self.raw.expression.map(|(_, bytes)| bytes)
    }

    /// Returns true if it only sets the base address, and contains that address.
    pub(super) fn is_base(&self) -> bool {
        matches!(self.raw.bounds, Bounds::Base(_))
    }

    /// Returns true if it only selects line table rows for the ends of the next entry.
    pub(super) fn is_view_pair(&self) -> bool {
        matches!(self.raw.bounds, Bounds::ViewPair(..))
    }

    /// Returns the entry without its expression. `size` is the size of an address, in bytes.
    pub(super) fn text(&self, size: u8) -> String {
        self.meant(size).unwrap_or_else(|| self.encoded(size))
    }

    /// Returns the addresses of the entry, or `None` if only a unit can resolve them.
    pub(super) fn meant(&self, size: u8) -> Option<String> {
        match &self.range {
            Some(range) => Some(range_text(range, size)),
            None if self.raw.bounds == Bounds::Default => Some("<default>".to_owned()),
            None => None,
        }
    }

    /// Returns the entry in its encoded form, without its expression.
    pub(super) fn encoded(&self, size: u8) -> String {
        let operands: Vec<String> = self.operands(size).map(|n| address(n, size)).collect();
        let operands = operands.join(", ");
        match self.kind() {
            "" => format!("({operands})"),
            kind => format!("{kind:<23}({operands})"),
        }
    }
}

fn operands(entry: &RawLocation<'_>, size: u8) -> impl Iterator<Item = u64> {
    let (first, second) = match entry.bounds {
        // In a pair, the highest address marks the other one as a base.
        Bounds::Base(base) if entry.kind.is_none() => (Some(highest(size)), Some(base)),
        Bounds::Base(first) | Bounds::BaseIndex(first) => (Some(first), None),
        Bounds::Offsets(first, second)
        | Bounds::Indices(first, second)
        | Bounds::IndexAndLength(first, second)
        | Bounds::Addresses(first, second)
        | Bounds::AddressAndLength(first, second)
        | Bounds::ViewPair(first, second) => (Some(first), Some(second)),
        Bounds::Default => (None, None),
    };
    first.into_iter().chain(second)
}

/// Formats an address with the width of addresses.
pub(super) fn address(value: u64, size: u8) -> String {
    let digits = usize::from(size).saturating_mul(2);
    let mut text = String::with_capacity(digits.saturating_add(2));
    push_hex(&mut text, value, digits);
    text
}

/// Formats an expression.
pub(super) fn operations_text(printer: &Printer<'_>, bytes: &[u8]) -> String {
    match bytes {
        [] => "<empty>".to_owned(),
        bytes => printer.expression(bytes),
    }
}

/// Returns a half open range of addresses.
pub(super) fn range_text(range: &Range<u64>, size: u8) -> String {
    format!(
        "[{}, {})",
        address(range.start, size),
        address(range.end, size)
    )
}

/// A list being read.
pub(super) struct List<'a> {
    raw: RawLocations<'a>,
    base: Base,
}

impl<'a> List<'a> {
    /// Starts reading the list at `start` of a section, or of the section's beginning up to the limit of the list.
    pub(super) fn new(
        section: &'static str,
        bytes: &'a [u8],
        start: u64,
        format: LocationFormat,
        address_size: u8,
    ) -> Result<List<'a>> {
        Ok(List {
            raw: RawLocations::new(section, bytes, start, format, address_size)?,
            base: Base::new(None, address_size),
        })
    }

    /// Returns the offset of the next byte to read.
    pub(super) fn offset(&self) -> u64 {
        self.raw.offset()
    }

    /// Returns [`next`](List::next), and charges for it: many entries may refer to the same list.
    pub(super) fn next_within(&mut self, meter: &Meter) -> Result<Option<ListEntry<'a>>> {
        meter.work(1)?;
        self.next()
    }

    /// Returns the next entry, or `None` at the end of the list and after an error.
    pub(super) fn next(&mut self) -> Result<Option<ListEntry<'a>>> {
        /// Fails, since only a unit selects the table of addresses for an index.
        fn unknown(index: u64) -> Result<u64> {
            Err(Error::malformed("address index", index.to_string()))
        }
        let Some(raw) = self.raw.next()? else {
            return Ok(None);
        };
        let listed = self.base.listed(raw.bounds, unknown).ok().flatten();
        Ok(Some(ListEntry {
            raw,
            range: listed.map(|listed| listed.range),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8], size: u8, old: bool) -> (Vec<String>, Option<Error>) {
        let format = LocationFormat::of(if old { 4 } else { 5 }, false);
        let mut list = List::new(".debug_loclists", bytes, 0, format, size).unwrap();
        let mut texts = Vec::new();
        loop {
            match list.next() {
                Ok(Some(entry)) => texts.push(entry.text(size)),
                Ok(None) => return (texts, None),
                Err(error) => return (texts, Some(error)),
            }
        }
    }

    /// Each entry and the end of the list are a step.
    #[test]
    fn what_entries_refer_to_is_paid_for() {
        // Two of DW_LLE_offset_pair, and DW_LLE_end_of_list.
        let bytes = [0x04, 0x10, 0x20, 1, 0x30, 0x04, 0x20, 0x30, 1, 0x31, 0];
        let format = LocationFormat::of(5, false);
        let mut list = List::new(".debug_loclists", &bytes, 0, format, 8).unwrap();
        let meter = Meter::new(&crate::limits::Limits::DEFAULT, 0);
        let mut entries = 0;
        while list.next_within(&meter).unwrap().is_some() {
            entries += 1;
        }
        assert_eq!((entries, meter.steps()), (2, 3));
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
        assert_eq!(found[1], "(0xffffffff, 0x00001000)");
        assert_eq!(found[2], "[0x00001010, 0x00001020)");
    }

    #[test]
    fn what_is_cut_short_or_unknown_ends_the_list() {
        let (found, error) = texts(&[0x05, 1, 0x31, 0x05, 9, 0x31], 8, false);
        assert_eq!(found, ["<default>"]);
        assert_eq!(error.unwrap().origin().unwrap().offset, 3);
        assert!(texts(&[0x77], 8, false).1.is_some());
    }

    // GNU's split DWARF 4: an index and a length of four bytes; expressions after two bytes of length.
    #[test]
    fn entries_of_gnu_split_dwarf() {
        #[rustfmt::skip]
        let bytes = [
            0x01, 5,
            0x02, 1, 2, 1, 0, 0x30,
            0x03, 0x81, 1, 0x10, 0, 0, 0, 2, 0, 0x30, 0x31,
            0x00,
        ];
        let format = LocationFormat::of(4, true);
        let mut list = List::new(".debug_loc.dwo", &bytes, 0, format, 8).unwrap();
        let mut found = Vec::new();
        while let Some(entry) = list.next().unwrap() {
            let operands: Vec<u64> = entry.operands(8).collect();
            found.push((
                entry.kind(),
                operands,
                entry.expression().map(<[u8]>::to_vec),
            ));
        }
        assert_eq!(
            found,
            [
                ("DW_LLE_base_addressx", vec![5], None),
                ("DW_LLE_startx_endx", vec![1, 2], Some(vec![0x30])),
                (
                    "DW_LLE_startx_length",
                    vec![0x81, 0x10],
                    Some(vec![0x30, 0x31])
                ),
            ]
        );
        assert_eq!(list.offset(), bytes.len() as u64);
    }
}
