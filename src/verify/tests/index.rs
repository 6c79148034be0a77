//! Tests indices and their tables, and range lists.

use crate::inspect::Program;
use crate::object::CodeObject;
use crate::object::testing::{ALLOC, EXECUTE, PROGBITS, linked, section};
use crate::verify::location::INDEX_RULES;
use crate::verify::{Finding, verify};

/// A unit of DWARF 5 with one index of each kind. Sources: DWARF 5 §7.5.6, §7.26 to §7.29.
#[derive(Clone, Debug)]
struct Made {
    /// `DW_AT_str_offsets_base`, `DW_AT_addr_base`, `DW_AT_loclists_base`, `DW_AT_rnglists_base`.
    bases: [Option<u32>; 4],
    /// `DW_AT_name` of the variable, as a `DW_FORM_strx1`.
    name: u8,
    /// `DW_AT_low_pc`, as a `DW_FORM_addrx1`.
    low_pc: u8,
    /// `DW_AT_location` of the variable, as a `DW_FORM_loclistx`.
    location: u8,
    /// `DW_AT_ranges`, as a `DW_FORM_rnglistx`.
    ranges: u8,
    strings: Vec<u8>,
    addresses: Vec<u8>,
    location_lists: Vec<u8>,
    range_lists: Vec<u8>,
}

/// Returns a part of a section of lists: its offsets, followed by its lists.
fn lists(offsets: &[u32], lists: &[&[u8]]) -> Vec<u8> {
    let mut body = vec![5, 0, 8, 0];
    body.extend((offsets.len() as u32).to_le_bytes());
    body.extend(offsets.iter().flat_map(|offset| offset.to_le_bytes()));
    body.extend(lists.concat());
    let mut part = (body.len() as u32).to_le_bytes().to_vec();
    part.extend(body);
    part
}

/// `DW_LLE_startx_length`: 16 bytes from address 0 of the table, `DW_OP_lit0, DW_OP_stack_value`; the end.
const LOCATION_LIST: &[u8] = &[3, 0, 0x10, 2, 0x30, 0x9f, 0];
/// `DW_RLE_startx_length`: 64 bytes from address 0 of the table; the end.
const RANGE_LIST: &[u8] = &[3, 0, 0x40, 0];

/// Returns a unit whose tables have two entries each, followed by the tables of another unit.
fn made() -> Made {
    let strings = [12, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0];
    let mut addresses = vec![20, 0, 0, 0, 5, 0, 8, 0];
    addresses.extend([0x1000_u64, 0x1010].iter().flat_map(|at| at.to_le_bytes()));
    let location_lists = lists(&[8, 15], &[LOCATION_LIST, LOCATION_LIST]);
    let range_lists = lists(&[8, 12], &[RANGE_LIST, RANGE_LIST]);
    Made {
        bases: [Some(8), Some(8), Some(12), Some(12)],
        name: 1,
        low_pc: 1,
        location: 1,
        ranges: 1,
        strings: strings.repeat(2),
        addresses: addresses.repeat(2),
        location_lists: location_lists.repeat(2),
        range_lists: range_lists.repeat(2),
    }
}

impl Made {
    fn with(&self, change: impl FnOnce(&mut Made)) -> Made {
        let mut made = self.clone();
        change(&mut made);
        made
    }

    fn object(&self) -> Vec<u8> {
        // Each attribute consists of its name, its form and its value.
        let names: [&[u8]; 4] = [&[0x72], &[0x73], &[0x8c, 0x01], &[0x74]];
        let mut abbreviations = vec![1, 0x11, 1];
        let mut unit = vec![1];
        for (name, base) in names.into_iter().zip(self.bases) {
            if let Some(base) = base {
                abbreviations.extend(name);
                abbreviations.push(0x17);
                unit.extend(base.to_le_bytes());
            }
        }
        abbreviations.extend([0x11, 0x29, 0x55, 0x23, 0, 0]);
        unit.extend([self.low_pc, self.ranges]);
        abbreviations.extend([2, 0x34, 0, 0x03, 0x25, 0x02, 0x22, 0, 0, 0]);
        unit.extend([2, self.name, self.location, 0]);
        let mut info = (unit.len() as u32 + 8).to_le_bytes().to_vec();
        info.extend([5, 0, 1, 8, 0, 0, 0, 0]);
        info.extend(unit);
        linked(&[
            section(".text", PROGBITS, &[0; 0x1000]).flags(ALLOC | EXECUTE),
            section(".debug_abbrev", PROGBITS, &abbreviations),
            section(".debug_info", PROGBITS, &info),
            section(".debug_str", PROGBITS, b"x\0y\0"),
            section(".debug_str_offsets", PROGBITS, &self.strings),
            section(".debug_addr", PROGBITS, &self.addresses),
            section(".debug_loclists", PROGBITS, &self.location_lists),
            section(".debug_rnglists", PROGBITS, &self.range_lists),
        ])
    }

    /// Returns the findings of the rules about indices and location lists.
    fn findings(&self) -> Vec<Finding> {
        let bytes = self.object();
        let object = CodeObject::parse(&bytes).unwrap();
        let program = Program::load(&object).unwrap();
        let all = verify(&program).findings;
        let wanted = |id: &str| {
            id.starts_with("index-") || id.starts_with("range-") || id.starts_with("loc-list")
        };
        all.into_iter()
            .filter(|finding| wanted(finding.rule.id))
            .collect()
    }
}

#[test]
fn every_index_has_its_entry_and_one_more_is_too_many() {
    let good = made();
    assert_eq!(good.findings(), []);
    // Each table has the entries 0 and 1. The other unit's table follows, so readers without a bounds check read from it.
    let broken: [(&str, Made); 4] = [
        ("DW_AT_name", good.with(|made| made.name = 2)),
        ("DW_AT_low_pc", good.with(|made| made.low_pc = 2)),
        ("DW_AT_location", good.with(|made| made.location = 2)),
        ("DW_AT_ranges", good.with(|made| made.ranges = 2)),
    ];
    for (attribute, made) in broken {
        let found = made.findings();
        let [finding] = found.as_slice() else {
            panic!("{attribute}: {found:?}");
        };
        assert_eq!(finding.rule.id, "index-outside", "{attribute}");
        assert!(
            finding.message.raw().starts_with(attribute),
            "{}",
            finding.message
        );
        assert!(
            finding
                .message
                .raw()
                .contains("the index 2 is outside of the unit's 2 entries"),
            "{}",
            finding.message
        );
    }
}

#[test]
fn a_table_is_missing_or_elsewhere() {
    let good = made();
    let names = [
        "DW_AT_str_offsets_base",
        "DW_AT_addr_base",
        "DW_AT_loclists_base",
        "DW_AT_rnglists_base",
    ];
    for (number, name) in names.into_iter().enumerate() {
        let missing = good.with(|made| made.bases[number] = None);
        let elsewhere = good.with(|made| {
            made.bases[number] = made.bases[number].map(|base| base + 1);
        });
        for (made, text) in [
            (missing, "the unit has no "),
            (elsewhere, "and no table of "),
        ] {
            let found = made.findings();
            let rules: Vec<_> = found.iter().map(|finding| finding.rule.id).collect();
            assert!(rules.contains(&"index-base"), "{name}: {found:?}");
            let message = &found
                .iter()
                .find(|f| f.rule.id == "index-base")
                .unwrap()
                .message;
            assert!(
                message.raw().contains(name) && message.raw().contains(text),
                "{message}"
            );
        }
    }
    // A header that differs from the unit's: version 4, addresses of 4 bytes, or a length beyond the section.
    for (at, value) in [(4, 4), (6, 4), (1, 0xff)] {
        let made = good.with(|made| made.location_lists[at] = value);
        let rules: Vec<_> = made.findings().iter().map(|f| f.rule.id).collect();
        assert_eq!(rules, ["index-base"], "{at}");
    }
    // More offsets than fit into the part.
    let made = good.with(|made| made.location_lists[8..12].fill(0xff));
    assert_eq!(made.findings()[0].rule.id, "index-base");
}

#[test]
fn a_list_is_outside_of_the_unit_s_part() {
    let good = made();
    // The offset of list 1 points into the part of the next unit, or into the offsets themselves.
    for offset in [good.location_lists.len() as u8 / 2 - 12, 4] {
        let made = good.with(|made| made.location_lists[16] = offset);
        let rules: Vec<_> = made.findings().iter().map(|f| f.rule.id).collect();
        assert_eq!(rules, ["index-list-outside"], "{offset}");
    }
    let made = good.with(|made| made.range_lists[16] = 20);
    assert_eq!(made.findings()[0].rule.id, "index-list-outside");
    let last = good.with(|made| made.range_lists[16] = 15);
    assert!(
        last.findings().is_empty(),
        "the end of the last list is a list"
    );
}

#[test]
fn range_lists_are_read_to_their_ends() {
    let good = made();
    let list = |bytes: &[u8]| {
        let part = lists(&[4], &[bytes]);
        good.with(|made| {
            made.ranges = 0;
            made.range_lists = part;
        })
    };
    let rules = |made: &Made| -> Vec<&str> {
        made.findings()
            .iter()
            .map(|finding| finding.rule.id)
            .collect()
    };
    assert_eq!(rules(&list(RANGE_LIST)), [""; 0]);
    // An unknown kind, a missing address, and a list without an end.
    for bytes in [&[0x77, 0, 0][..], &[3, 2, 0x40, 0], &[3, 0]] {
        assert_eq!(rules(&list(bytes)), ["range-list"], "{bytes:?}");
    }
}

#[test]
fn rules_of_indices_have_examples() {
    let with_examples = [
        "index-base",
        "index-outside",
        "index-list-outside",
        "range-list",
    ];
    let rules: Vec<_> = INDEX_RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(rules, with_examples);
}
