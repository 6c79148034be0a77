//! Tests the fields of entries and the look-up of addresses, on sections built by hand.

use dwarf_tests::elf::uleb;
use dwarf_tests::frame_entry;
use fallible_iterator::FallibleIterator;
use hetdwarf::error::ErrorKind;
use hetdwarf::frame::{
    CfaRule, Entry as FrameEntry, Fde, FrameIndex, FrameSection, Rows, SectionKind,
};
use hetdwarf::limits::Limit;

/// Returns a CIE of version 4, and the bytes after its augmentation: the sizes of addresses and of segment selectors, both factors 4, the
/// return address in register 16 (PC_64), and the initial instructions.
fn cie(address_size: u8, selector_size: u8, initial: &[u8]) -> Vec<u8> {
    let fields = [4, 0, address_size, selector_size, 4, 4, 16];
    frame_entry(&[&[0xff; 4], &fields, initial])
}

/// Returns an FDE with addresses of 8 bytes.
fn fde(cie: usize, start: u64, size: u64, instructions: &[u8]) -> Vec<u8> {
    let cie = u32::try_from(cie).unwrap().to_le_bytes();
    frame_entry(&[
        &cie,
        &start.to_le_bytes(),
        &size.to_le_bytes(),
        instructions,
    ])
}

/// Returns the first address and the size of the FDE that covers an address.
fn covering(index: &FrameIndex<'_>, pc: u64) -> Option<(u64, u64)> {
    let found: Option<Fde<'_>> = index.find(pc).unwrap();
    found.map(|fde| (fde.initial_location, fde.address_range))
}

/// DWARF 5 §6.4.1: the range begins at the initial location, and ends before its sum with the address range.
#[test]
fn the_nearest_of_overlapping_entries_covers_an_address() {
    let ranges = [(0x1000, 0x2000), (0x1800, 0x100), (0x1900, 0x100)];
    let entries = ranges.map(|(start, size)| fde(0, start, size, &[]));
    let section = [cie(8, 0, &[]), entries.concat()].concat();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    let [outer, first, second] = ranges.map(Some);
    for (pc, expected) in [
        (0xfff, None),
        (0x1000, outer),
        (0x17ff, outer),
        (0x1800, first),
        (0x18ff, first),
        (0x1900, second),
        (0x19ff, second),
        (0x1a00, outer),
        (0x2fff, outer),
        (0x3000, None),
    ] {
        assert_eq!(covering(&index, pc), expected, "{pc:#x}");
    }
}

/// DWARF 5 §6.4.1: an address in an FDE has the size that its CIE gives, not the one before. The second FDE has addresses of 4 bytes.
#[test]
fn addresses_have_the_size_in_their_own_cie() {
    let (wide, narrow) = (cie(8, 0, &[]), cie(4, 0, &[]));
    let offset = u32::try_from(wide.len()).unwrap();
    let start = 0x3000u32.to_le_bytes();
    let short = frame_entry(&[&offset.to_le_bytes(), &start, &0x10u32.to_le_bytes()]);
    let section = [
        wide,
        narrow,
        fde(0, 0x1000, 0x10, &[]),
        short,
        fde(0, 0x2000, 0x10, &[]),
    ]
    .concat();
    let index = FrameIndex::new(FrameSection::debug_frame(&section));
    for start in [0x1000, 0x2000, 0x3000] {
        assert_eq!(covering(&index, start + 0xf), Some((start, 0x10)));
    }
}

/// DWARF 5 §6.4.1: a segment selector of the size in the CIE precedes the initial location. `DW_CFA_undefined` of register 33 follows.
#[test]
fn a_segment_selector_precedes_the_address() {
    let common = cie(8, 2, &[]);
    let contents: [&[u8]; 5] = [
        &[0; 4],
        &[0x34, 0x12],
        &0x1000u64.to_le_bytes(),
        &0x100u64.to_le_bytes(),
        &[7, 33],
    ];
    let section = [common.clone(), frame_entry(&contents)].concat();
    let section = FrameSection::debug_frame(&section);
    let fde = section.fde_at(common.len() as u64).unwrap();
    assert_eq!((fde.initial_location, fde.address_range), (0x1000, 0x100));
    // The entry has 4 + 4 + 2 + 16 + 2 = 28 bytes, and is padded to 32.
    assert_eq!(fde.instructions, [7, 33, 0, 0, 0, 0]);
    assert_eq!(fde.instructions_offset, 16 + 26);
    assert!(fde.contains(0x10ff) && !fde.contains(0x1100));
    let index = FrameIndex::new(section);
    assert_eq!(covering(&index, 0x10ff), Some((0x1000, 0x100)));
}

/// HET A.6.4.1: with an unknown augmentation, only the length, CIE pointer, address and range of an FDE can be read.
#[test]
fn an_unknown_augmentation_has_a_range_and_no_instructions() {
    let common = frame_entry(&[&[0xff; 4], &[4], b"new\0", &[0xee; 8]]);
    let section = [common.clone(), fde(0, 0x1000, 0x100, &[7, 33])].concat();
    let section = FrameSection::debug_frame(&section);
    let fde = section.fde_at(common.len() as u64).unwrap();
    assert_eq!((fde.initial_location, fde.address_range), (0x1000, 0x100));
    assert!(fde.instructions.is_empty());
}

/// The Linux Standard Base, *Exception Frames*: `R` in the augmentation gives the encoding of addresses, here 0x1b, four bytes with a sign relative
/// to their own place. `z` begins each entry's augmentation data, two bytes here, with a length. `DW_CFA_advance_loc` by 1 and
/// `DW_CFA_offset` of register 16 follow.
#[test]
fn an_address_of_eh_frame_is_relative_to_its_place() {
    let common = [
        0x10, 0, 0, 0, 0, 0, 0, 0, 1, b'z', b'R', 0, 4, 0x78, 16, 1, 0x1b, 0, 0, 0,
    ];
    let entry = [
        &[0x14, 0, 0, 0, 24, 0, 0, 0][..],
        &0x100u32.to_le_bytes(),
        &0x40u32.to_le_bytes(),
        &[2, 0xaa, 0xbb, 0x41, 0x90, 1, 0, 0],
    ];
    let bytes = [&common[..], &entry.concat(), &[0; 4]].concat();
    let section = FrameSection::new(&bytes, SectionKind::EhFrame, 0x2_0000, 8);
    let fde = section.fde_at(20).unwrap();
    // The address is at offset 28.
    assert_eq!(fde.initial_location, 0x2_0000 + 28 + 0x100);
    assert_eq!(fde.address_range, 0x40);
    assert_eq!(fde.instructions, [0x41, 0x90, 1, 0, 0]);
    let index = FrameIndex::new(section);
    assert_eq!(covering(&index, 0x2_011c), Some((0x2_011c, 0x40)));
    assert_eq!(covering(&index, 0x2_011b), None);
}

/// A reader of rows that goes on with the FDE of another CIE has the rules of that CIE alone. The first has a CFA, `DW_CFA_def_cfa` of register
/// 72.
#[test]
fn rows_of_another_entry_begin_without_rules() {
    let (first, second) = (cie(8, 0, &[0x0c, 72, 0]), cie(8, 0, &[]));
    let fdes = [0, first.len()].map(|cie| fde(cie, 0x1000, 0x10, &[]));
    let expected = [0, first.len() as u64];
    let section = [first, second, fdes.concat()].concat();
    let section = FrameSection::debug_frame(&section);
    // Both follow the second CIE.
    let fdes = section.entries().filter_map(|entry| {
        let FrameEntry::Fde(fde) = entry else {
            return Ok(None);
        };
        Ok(Some(fde))
    });
    let fdes: Vec<Fde<'_>> = fdes.collect().unwrap();
    let [start, next] = fdes.try_into().unwrap();
    assert_eq!([start.cie.offset, next.cie.offset], expected);
    let mut rows = Rows::new(&start, ".debug_frame").unwrap();
    let cfa = rows.next().unwrap().unwrap().cfa;
    assert!(matches!(cfa, CfaRule::Register { register: 72, .. }));
    rows.restart(&next).unwrap();
    assert_eq!(rows.next().unwrap().unwrap().cfa, CfaRule::None);
}

/// `DW_CFA_remember_state` copies 8000 rules each time, although it has one byte, and a `DW_CFA_restore_state` follows. 20,000 such pairs copy 160
/// million rules. A step stands for 16, so these are 10 million steps. The limit is 2^22, and 32 for each of 72,000 bytes: 6.5 million.
#[test]
fn copied_rules_are_work() {
    let rule = |register| [&[0x05][..], &uleb(register), &[1]].concat();
    let rules: Vec<u8> = (0..8000).flat_map(rule).collect();
    let common = cie(8, 0, &rules);
    for (pairs, is_limited) in [(1000, false), (20_000, true)] {
        let instructions = [0x0a, 0x0b].repeat(pairs);
        let section = [common.clone(), fde(0, 0x1000, 0x10, &instructions)].concat();
        let section = FrameSection::debug_frame(&section);
        let fde = section.fde_at(common.len() as u64).unwrap();
        let mut rows = Rows::new(&fde, ".debug_frame").unwrap();
        let found = rows
            .next()
            .map(|_| ())
            .map_err(|error| error.kind().clone());
        let is_work = |kind| {
            matches!(
                kind,
                ErrorKind::Limit {
                    limit: Limit::Work,
                    ..
                }
            )
        };
        assert_eq!(found.is_err_and(is_work), is_limited, "{pairs}");
    }
}

/// The Linux Standard Base, *Exception Frames*: `P` is an encoding and the address of the personality routine, `L` the encoding of the addresses of
/// language-specific data. 3 is a number of four bytes. In version 1, the column of the return address is one byte, even from 0x80 on.
#[test]
fn an_entry_of_eh_frame_names_its_language() {
    let personality = [0x03, 0x78, 0x56, 0x34, 0x12];
    let common = frame_entry(&[
        &[0; 4],
        &[1],
        b"zPLR\0",
        &[4, 0x78, 0x90, 7],
        &personality,
        &[0x03, 0x03],
    ]);
    // The CIE pointer counts from its own place.
    let pointer = u32::try_from(common.len()).unwrap() + 4;
    let address = 0x2000u32.to_le_bytes();
    let size = 0x40u32.to_le_bytes();
    let language = 0x9abcu32.to_le_bytes();
    let entry = frame_entry(&[&pointer.to_le_bytes(), &address, &size, &[4], &language]);
    let bytes = [common.clone(), entry].concat();
    let section = FrameSection::new(&bytes, SectionKind::EhFrame, 0x2_0000, 8);
    let fde = section.fde_at(common.len() as u64).unwrap();
    let cie = &fde.cie;
    assert_eq!(cie.return_address_register, 0x90);
    assert_eq!(cie.personality, Some(0x1234_5678));
    assert_eq!(cie.lsda_encoding, Some(3));
    assert_eq!(fde.lsda, Some(0x9abc));
    assert_eq!(fde.initial_location, 0x2000);
}

/// Reads all rows of an FDE, and returns the message of an error.
fn error_of_rows(initial: &[u8], instructions: &[u8]) -> Option<String> {
    let common = cie(8, 0, initial);
    let section = [common.clone(), fde(0, 0x1000, 0x100, instructions)].concat();
    let section = FrameSection::debug_frame(&section);
    let fde = section.fde_at(common.len() as u64).unwrap();
    let mut rows = Rows::new(&fde, ".debug_frame").unwrap();
    loop {
        match rows.next() {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => return Some(error.to_string()),
        }
    }
}

/// DWARF 5 §6.4.3: entries begin with the rules of the CIE, and not with its remembered rows. `DW_CFA_remember_state` and `DW_CFA_restore_state`
/// are 0x0a and 0x0b.
#[test]
fn rows_remembered_by_the_common_entry_are_gone() {
    assert_eq!(error_of_rows(&[], &[0x0a, 0x0b]), None);
    let error = error_of_rows(&[0x0a], &[0x0b]).unwrap();
    assert!(error.contains("nothing was remembered"), "{error}");
}

/// DWARF 5 §6.4.2.1: the address of `DW_CFA_set_loc` is greater than the current one.
#[test]
fn rows_do_not_go_back() {
    let set = |address: u64| [&[0x01][..], &address.to_le_bytes()].concat();
    let rows = |addresses: [u64; 2]| error_of_rows(&[], &addresses.map(set).concat());
    assert_eq!(rows([0x1010, 0x1018]), None);
    let error = rows([0x1010, 0x1008]).unwrap();
    assert!(error.contains("it goes backwards"), "{error}");
}
