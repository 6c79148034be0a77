//! Tests the indices of packages, which are written byte by byte. Source: DWARF 5 §7.3.5.3.

use super::structure::{expect, said, with};
use crate::verify::packages;

const INFO: u32 = 1;
const ABBREV: u32 = 3;

/// Returns an index of two units with one column, whose parts have these offsets and sizes.
fn index(column: u32, parts: [(u32, u32); 2]) -> Vec<u8> {
    let words = |words: &[u32]| -> Vec<u8> {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        bytes.collect()
    };
    let mut index = words(&[5, 1, 2, 4]);
    for signature in [0_u64, 7, 9, 0] {
        index.extend(signature.to_le_bytes());
    }
    index.extend(words(&[0, 1, 2, 0, column]));
    index.extend(words(&parts.map(|(start, _)| start)));
    index.extend(words(&parts.map(|(_, size)| size)));
    index
}

#[test]
fn the_parts_of_two_units_are_apart() {
    let found = |column, parts| {
        let index = index(column, parts);
        let of_units = said(&with(&[(".debug_cu_index", &index)]), packages::check);
        let of_types = said(&with(&[(".debug_tu_index", &index)]), packages::check);
        assert_eq!(of_units, of_types);
        of_units
    };
    for column in [INFO, ABBREV] {
        assert_eq!(found(column, [(0, 0x10), (0x10, 0x20)]), []);
        // An empty part has no bytes.
        assert_eq!(found(column, [(0, 0x10), (8, 0)]), []);
        let all = found(column, [(0, 0x11), (0x10, 0x20)]);
        // The second signature is in slot 2.
        expect(&all, "package-overlap", 16 + 2 * 8, "[0x0, 0x11), and");
        let inside = found(column, [(0xffff_fff0, 0x20), (0xffff_fff8, 1)]);
        expect(
            &inside,
            "package-overlap",
            16 + 2 * 8,
            "[0xfffffff0, 0x100000010)",
        );
    }
    // Units of one file share its abbreviations, but no part of the units themselves.
    let same = [(0, 0x10), (0, 0x10)];
    assert_eq!(found(ABBREV, same), []);
    expect(
        &found(INFO, same),
        "package-overlap",
        32,
        "INFO of 0x0000000000000007",
    );
}
