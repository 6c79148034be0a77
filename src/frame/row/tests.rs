//! Compares rows with a map, and tests the error for a wrong instruction.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::frame::{Augmentation, Instruction};

/// The effect of a test instruction.
#[derive(Clone, Copy, Debug)]
enum Change {
    Give(u64, bool),
    Restore(u64),
    Remember,
    Return,
    Advance,
}

fn instruction(change: Change) -> Instruction<'static> {
    match change {
        Change::Give(register, true) => Instruction::Undefined { register },
        Change::Give(register, false) => Instruction::SameValue { register },
        Change::Restore(register) => Instruction::RestoreExtended { register },
        Change::Remember => Instruction::RememberState,
        Change::Return => Instruction::RestoreState,
        Change::Advance => Instruction::AdvanceLoc1 { delta: 1 },
    }
}

fn encoded(changes: &[Change]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for change in changes {
        instruction(*change).encode(8, &mut bytes).unwrap();
    }
    bytes
}

/// Registers get rules one by one and in ascending groups, as in compilers' output.
fn changes(most: usize) -> impl Strategy<Value = Vec<Change>> {
    let give = |(first, count, undefined): (u64, u64, bool)| {
        let registers = first..first + count;
        registers
            .map(|register| Change::Give(register, undefined))
            .collect()
    };
    let some = prop_oneof![
        4 => (0u64..60, 1u64..12, any::<bool>()).prop_map(give),
        3 => (0u64..60, any::<bool>()).prop_map(|(register, undefined)| vec![Change::Give(register, undefined)]),
        2 => (0u64..60).prop_map(|register| vec![Change::Restore(register)]),
        1 => Just(vec![Change::Remember]),
        1 => Just(vec![Change::Return]),
        2 => Just(vec![Change::Advance]),
    ];
    prop::collection::vec(some, 0..most).prop_map(|changes| changes.concat())
}

fn fde<'a>(initial_instructions: &'a [u8], instructions: &'a [u8]) -> Fde<'a> {
    let cie = Cie {
        offset: 0,
        offset_size: 4,
        length: 0,
        version: 4,
        augmentation_text: "",
        augmentation: Augmentation::parse(""),
        address_size: 8,
        segment_selector_size: 0,
        code_alignment_factor: 4,
        data_alignment_factor: 4,
        return_address_register: 16,
        initial_instructions,
        instructions_offset: 0,
        pointer_encoding: None,
        augmentation_data: &[],
        personality: None,
        personality_place: 0,
        lsda_encoding: None,
    };
    Fde {
        offset: 0,
        length: 0,
        cie: Arc::new(cie),
        initial_location: 0,
        address_range: 0x1000,
        instructions,
        instructions_offset: 0,
        lsda: None,
        lsda_place: 0,
    }
}

/// `DW_CFA_restore_state` with nothing remembered, at offset 2: after `DW_CFA_advance_loc1` and its operand.
#[test]
fn an_error_names_the_section_that_the_entry_is_from() {
    let instructions = encoded(&[Change::Advance, Change::Return]);
    let entry = fde(&[], &instructions);
    let mut rows = Rows::new(&entry, ".eh_frame").unwrap();
    assert!(rows.next().unwrap().is_some());
    let text = rows.next().unwrap_err().to_string();
    assert!(text.starts_with(".eh_frame+0x2: "), "{text}");
}

type Rules<'a> = Vec<(u64, RegisterRule<'a>)>;

/// Reads the starts and rules of rows up to an error.
fn read<'a>(rows: &mut Rows<'a>) -> Vec<(u64, Rules<'a>)> {
    let mut found = Vec::new();
    while let Ok(Some(row)) = rows.next() {
        found.push((row.start, row.rules().to_vec()));
    }
    found
}

proptest! {
    /// Each row equals the map.
    #[test]
    fn rows_are_those_of_a_map(first in changes(4), then in changes(30)) {
        let only_rules = |change: &Change| matches!(change, Change::Give(..) | Change::Restore(_));
        let first: Vec<Change> = first.into_iter().filter(only_rules).collect();
        let (initial_instructions, instructions) = (encoded(&first), encoded(&then));
        let fde = fde(&initial_instructions, &instructions);
        let found = read(&mut Rows::new(&fde, ".debug_frame").unwrap());
        // After an entry of another CIE, and after the entry itself.
        for before in [&self::fde(&[], &instructions), &fde] {
            let mut rows = Rows::new(before, ".debug_frame").unwrap();
            let _ = rows.next();
            rows.restart(&fde).unwrap();
            prop_assert_eq!(read(&mut rows), &found[..]);
        }

        let rule = |undefined| if undefined { RegisterRule::Undefined } else { RegisterRule::SameValue };
        let (mut map, mut initial, mut remembered) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (mut expected, mut at, mut good) = (Vec::new(), 0, true);
        for (index, change) in first.iter().chain(&then).enumerate() {
            if index == first.len() {
                initial.clone_from(&map);
            }
            match *change {
                Change::Give(register, undefined) => drop(map.insert(register, rule(undefined))),
                Change::Restore(register) => match initial.get(&register) {
                    Some(rule) => drop(map.insert(register, *rule)),
                    None => drop(map.remove(&register)),
                },
                Change::Remember => remembered.push(map.clone()),
                Change::Return => match remembered.pop() {
                    Some(saved) => map = saved,
                    None => {
                        good = false;
                        break;
                    }
                },
                Change::Advance => {
                    expected.push((at, map.clone().into_iter().collect::<Vec<_>>()));
                    at += 4;
                }
            }
        }
        if good {
            expected.push((at, map.into_iter().collect()));
        }
        prop_assert_eq!(found, expected);
    }
}
