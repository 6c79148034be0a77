//! Writes random valid DWARF, reads it back unchanged, and writes it again to the same bytes.
//!
//! `PROPTEST_CASES=100000 cargo test -p dwarf-tests --test round_trip` tries more cases.

use dwarf_tests::fuzz::expression;
use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{ScratchAddressing, WaveSize};
use hetdwarf::expr::{
    Dialect, Encoding, OperandKind, OperandValue, Operation, ROWS, encode_operation, operations,
};
use hetdwarf::frame::write::{Common, FrameTable, FunctionFrame, Start, Target};
use hetdwarf::frame::{Entry, FrameSection, Instruction, Instructions};
use proptest::prelude::*;

/// The factors of advances and offsets, in bytes.
const CODE_FACTOR: u64 = 1;
const DATA_FACTOR: i64 = -300;

/// Generates numbers of all sizes, including the limits of their encodings.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..64u64,
        any::<u8>().prop_map(u64::from),
        any::<u16>().prop_map(u64::from),
        any::<u64>(),
        (0..64u32, 0..3u64)
            .prop_map(|(bit, more)| (1u64 << bit).wrapping_sub(1).wrapping_add(more)),
    ]
}

/// Generates an operand: a number and bytes, one of which its kind uses.
fn operand() -> impl Strategy<Value = (u64, Vec<u8>)> {
    (number(), prop::collection::vec(any::<u8>(), 0..12))
}

/// Returns an operand of a kind, from a number and bytes.
fn value<'a>(
    kind: OperandKind,
    family: u8,
    encoding: Encoding,
    (number, bytes): &'a (u64, Vec<u8>),
) -> OperandValue<'a> {
    let number = *number;
    let of_bytes = |size: u8| number & (u64::MAX >> (64 - u32::from(size) * 8));
    let signed = |size: u32| number.cast_signed() << (64 - size * 8) >> (64 - size * 8);
    match kind {
        OperandKind::Member => OperandValue::Unsigned(number % u64::from(family)),
        OperandKind::U8 => OperandValue::Unsigned(of_bytes(1)),
        OperandKind::U16 => OperandValue::Unsigned(of_bytes(2)),
        OperandKind::U32 => OperandValue::Unsigned(of_bytes(4)),
        OperandKind::Address => OperandValue::Unsigned(of_bytes(encoding.address_size)),
        OperandKind::SectionReference => OperandValue::Unsigned(of_bytes(encoding.offset_size)),
        OperandKind::S8 => OperandValue::Signed(signed(1)),
        OperandKind::S16 | OperandKind::Branch => OperandValue::Signed(signed(2)),
        OperandKind::S32 => OperandValue::Signed(signed(4)),
        OperandKind::S64
        | OperandKind::Sleb
        | OperandKind::WideSleb
        | OperandKind::Displacement => OperandValue::Signed(number.cast_signed()),
        OperandKind::U64
        | OperandKind::Uleb
        | OperandKind::WideUleb
        | OperandKind::Register
        | OperandKind::BaseType => OperandValue::Unsigned(number),
        OperandKind::Block1 | OperandKind::Block => OperandValue::Bytes(bytes),
        // Three operations, the last of which belongs to a family.
        OperandKind::Expression => OperandValue::Bytes(&[0x30, 0x31, 0x22]),
        other => panic!("no operand is made of {other:?}"),
    }
}

fn encodings() -> impl Strategy<Value = Encoding> {
    let dialects = [Dialect::User, Dialect::OneByte, Dialect::Draft];
    let sizes = prop::sample::select(vec![4u8, 8]);
    (
        prop::sample::select(dialects.to_vec()),
        sizes.clone(),
        sizes,
    )
        .prop_map(|(dialect, address_size, offset_size)| Encoding {
            address_size,
            offset_size,
            dialect,
        })
}

/// Decodes random bytes as instructions.
fn read<'a>(bytes: &'a [u8]) -> Vec<Instruction<'a>> {
    let mut items = Instructions::new(bytes, 0, 8, ".debug_frame");
    let mut found = Vec::new();
    while let Ok(Some(item)) = items.next() {
        found.push(item.instruction);
    }
    found
}

/// Writes a section with a function that has a valid sequence of the instructions. Also returns this sequence.
fn write<'a>(instructions: &[Instruction<'a>]) -> (Vec<u8>, Vec<Instruction<'a>>) {
    let target = Target {
        wave_size: WaveSize::Wave64,
        scratch: ScratchAddressing::Flat,
    };
    let common = Common::new()
        .with_alignment_factors(CODE_FACTOR, DATA_FACTOR)
        .unwrap();
    let start = Start::Address(0x1000);
    let mut frame = FunctionFrame::new(target, &common, start, 0x1_0000).unwrap();
    let mut taken = Vec::new();
    for instruction in instructions {
        if *instruction != Instruction::Nop && frame.raw(*instruction).is_ok() {
            taken.push(*instruction);
        }
    }
    let mut table = FrameTable::new();
    table.add(frame);
    // An invalid sequence, such as states that are never restored, is rejected as a whole.
    (
        table
            .write()
            .map(|written| written.bytes)
            .unwrap_or_default(),
        taken,
    )
}

proptest! {
    #[test]
    fn expressions(
        encoding in encodings(),
        chosen in prop::collection::vec((0..ROWS.len(), operand(), operand(), operand()), 1..16),
    ) {
        let mut bytes = Vec::new();
        let mut written = Vec::new();
        for (row, first, second, third) in &chosen {
            let row = &ROWS[*row];
            let values: Vec<_> = (row.operands.iter().zip([first, second, third]))
                .map(|(kind, from)| value(*kind, row.family, encoding, from))
                .collect();
            let operation = Operation::from_operands(row.opcode, &values).unwrap();
            let before = bytes.len();
            // Some operations do not exist in every dialect.
            if encode_operation(&operation, encoding, &mut bytes).is_ok() {
                written.push(operation);
            } else {
                prop_assert_eq!(bytes.len(), before);
            }
        }
        let items: Vec<_> = operations(&bytes, encoding).collect().unwrap();
        let read: Vec<_> = items.iter().map(|item| item.operation).collect();
        prop_assert_eq!(&read, &written);
        let mut again = Vec::new();
        for operation in &read {
            encode_operation(operation, encoding, &mut again).unwrap();
        }
        prop_assert_eq!(&again, &bytes);
        // The text must also preserve the expression.
        expression::bytes(&bytes);
    }

    #[test]
    fn call_frame_information(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        // The expression starts at each eighth byte.
        let starts = (0..bytes.len()).step_by(8).filter_map(|start| bytes.get(start..));
        let instructions: Vec<_> = starts.flat_map(read).take(60).collect();
        let (section, taken) = write(&instructions);
        prop_assume!(taken.len() > 4 && !section.is_empty());
        let mut entry_count = 0;
        let mut entries = FrameSection::debug_frame(&section).entries();
        while let Some(entry) = entries.next().unwrap() {
            let Entry::Fde(fde) = entry else { continue };
            let mut found = read(fde.instructions);
            while found.last() == Some(&Instruction::Nop) {
                found.pop();
            }
            prop_assert_eq!(&found, &taken);
            prop_assert_eq!(&write(&found).0, &section);
            let factors = (fde.cie.code_alignment_factor, fde.cie.data_alignment_factor);
            prop_assert_eq!(factors, (CODE_FACTOR, DATA_FACTOR));
            prop_assert_eq!((fde.initial_location, fde.address_range), (0x1000, 0x1_0000));
            entry_count += 1;
        }
        prop_assert_eq!(entry_count, 1);
    }
}
