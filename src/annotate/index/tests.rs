//! Compares updated indices with bytes worked out by hand from the standards.

use super::*;
use crate::limits::Limits;

/// Returns an index after the insertion of some bytes at 0x20 in `.debug_info`.
fn updated(name: &str, section: &[u8], inserted: usize) -> Vec<u8> {
    let edit = Edit {
        at: 0x20,
        removed: 0,
        bytes: vec![0; inserted],
    };
    let meter = Arc::new(Meter::new(&Limits::DEFAULT, 1 << 20));
    followed(name, section, &Shift::new([&edit]), &meter).unwrap()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns a section with its length (DWARF 5 §7.4) in front.
fn with_length(body: &[u8]) -> Vec<u8> {
    [&words(&[u32::try_from(body.len()).unwrap()]), body].concat()
}

/// Sets of names of two units: at 0, and after it. GNU's flags of `b` and `c` are 0, as for a symbol of unknown kind that is not static.
#[test]
fn names_with_flags_are_followed() {
    let set = |unit: [u32; 2], names: &[(u32, &[u8])]| {
        let mut body = vec![2, 0];
        body.extend(words(&unit));
        for (offset, name) in names {
            body.extend(words(&[*offset]));
            body.extend(*name);
        }
        body.extend(words(&[0]));
        with_length(&body)
    };
    let section = |first: u32, second: u32, length: u32, names: [u32; 4]| {
        let [a, b, c, d] = names;
        let names: &[(u32, &[u8])] = &[(a, b"\x30a\0"), (b, b"\0b\0"), (c, b"\0c\0")];
        let first = set([first, length], names);
        [first, set([second, 0x40], &[(d, b"\x30d\0")])].concat()
    };
    let old = section(0, 0x80, 0x80, [0x10, 0x24, 0x30, 0x10]);
    let new = section(0, 0x88, 0x88, [0x10, 0x2c, 0x38, 0x10]);
    assert_eq!(updated(".debug_gnu_pubnames", &old, 8), new);
}

/// gdb's index, version 8, with a unit at 0, and two rows of types: at 0x24 in the unit at 0, and at 0x30 in the unit at 0x80.
#[test]
fn type_units_of_gdb_are_followed() {
    let index = |length: u64, ty: u64, unit: u64| {
        let mut bytes = words(&[8, 24, 40, 88, 88, 88]);
        let rows = [0, length, 0, ty, 0x1234, unit, 0x30, 0x5678];
        bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
        bytes
    };
    let new = updated(".gdb_index", &index(0x80, 0x24, 0x80), 8);
    assert_eq!(new, index(0x88, 0x2c, 0x88));
}

/// An index of two names (DWARF 5 §6.1.1.2) whose entries have offsets of one byte, and refer to each other as parents. The new offsets, 0x124 and 0x130,
/// need two bytes. So the form becomes LEB128 of the same class, and the second entry moves by a byte.
#[test]
fn offsets_that_do_not_fit_are_widened() {
    let index = |form: u8, offsets: [&[u8]; 2], second: u32| {
        // A code, DW_TAG_subprogram, DW_IDX_die_offset, DW_IDX_parent as DW_FORM_ref4, and two ends.
        let abbreviations = [1, 0x2e, 3, form, 4, 0x13, 0, 0, 0];
        let size = u32::try_from(abbreviations.len()).unwrap();
        let mut body = vec![5, 0, 0, 0];
        // One unit; no other units and no buckets; two names; no augmentation. Then the unit's offset, the names, and their entries.
        body.extend(words(&[1, 0, 0, 0, 2, size, 0, 0, 0x70, 0x71, 0, second]));
        body.extend(abbreviations);
        for (offset, parent) in offsets.into_iter().zip([second, 0]) {
            body.push(1);
            body.extend(offset);
            body.extend(words(&[parent]));
            body.push(0);
        }
        with_length(&body)
    };
    // DW_FORM_ref1 and DW_FORM_ref_udata, DW_FORM_data1 and DW_FORM_udata.
    for (short, long) in [(0x11, 0x15), (0x0b, 0x0f)] {
        let old = index(short, [&[0x24], &[0x30]], 7);
        let new = index(long, [&[0xa4, 2], &[0xb0, 2]], 8);
        assert_eq!(updated(".debug_names", &old, 0x100), new);
    }
}
