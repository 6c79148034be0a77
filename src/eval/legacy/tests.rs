//! Compares LLVM's output with its meaning, and evaluates random integer expressions against Rust.

use proptest::prelude::*;

use super::*;
use crate::arch::Lane;
use crate::eval::{Context, LaneFocus, LocationAttribute, Reading, locate};
use crate::expr::{Encoding, ParseOptions, Printer, parse};
use crate::location::{Access, Arena, Bits, read};
use crate::wave::Snapshot;

/// A unit of clang up to 20 with base types at the offsets of `TYPES`, whose sections are loaded from 0x1000 to 0x2000.
struct Fake;

/// Bits and sign of the base types at offsets 1, 2, 3, ….
const TYPES: [(u8, bool); 8] = [
    (32, true),
    (32, false),
    (64, true),
    (64, false),
    (8, false),
    (1, false),
    (16, true),
    (8, true),
];

impl LegacyUnit for Fake {
    fn space(&self, number: u64) -> Option<AddressSpace> {
        match number {
            1 => Some(AddressSpace::PrivateLane),
            2 => Some(AddressSpace::Local),
            4 => None,
            number => AddressSpace::from_number(number),
        }
    }

    fn integer(&self, _: Unit, offset: u64) -> Option<IntegerType> {
        let index = usize::try_from(offset).ok()?.checked_sub(1)?;
        let (bits, signed) = *TYPES.get(index)?;
        Some(IntegerType { bits, signed })
    }

    fn address(&self, _: Unit, index: u64) -> Result<u64> {
        Ok(0x100 * index)
    }

    fn is_loaded(&self, address: u64) -> bool {
        (0x1000..0x2000).contains(&address)
    }

    fn is_local(&self, address: u64, object_bits: Option<u64>) -> bool {
        address != 0 || object_bits == Some(512)
    }

    fn has_stack_value(&self) -> bool {
        true
    }
}

fn frame() -> LegacyFrame {
    LegacyFrame {
        base: LegacyBase::Register(Register::sgpr(33).unwrap()),
        scaled_by: None,
    }
}

fn expression(text: &str, arena: &'static Arena<'static>) -> ExpressionBytes<'static> {
    let bytes = parse(text, &ParseOptions::default())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .encode(Encoding::AMDGPU)
        .unwrap();
    ExpressionBytes::alone(arena.keep(bytes), Unit::unknown(Encoding::AMDGPU))
}

/// Returns a leaked arena, since tests end soon.
fn arena() -> &'static Arena<'static> {
    Box::leak(Box::new(Arena::new()))
}

fn object(bits: u64, slot_pointer: SlotPointer) -> ObjectShape {
    ObjectShape {
        bits,
        byte_elements: false,
        slot_pointer,
    }
}

fn meaning(text: &str, bits: u64, frame: &LegacyFrame) -> Meaning {
    let object = object(bits, SlotPointer::Generic);
    rewrite_legacy(&expression(text, arena()), Some(object), frame, &Fake)
}

/// Returns the readings of a location, in assembler syntax without `DW_OP_`, and the reasons of its doubts.
fn readings(text: &str, bits: u64, frame: &LegacyFrame) -> (Vec<String>, Vec<Ambiguity>) {
    printed(&meaning(text, bits, frame))
}

fn printed(meaning: &Meaning) -> (Vec<String>, Vec<Ambiguity>) {
    let print = |bytes: &Vec<u8>| {
        let text = Printer::new(Encoding::AMDGPU.in_memory()).expression(bytes);
        text.replace("DW_OP_LLVM_user ", "")
            .replace("DW_OP_LLVM_", "")
            .replace("DW_OP_", "")
    };
    (
        meaning.readings.iter().map(print).collect(),
        meaning.doubts.iter().map(|doubt| doubt.reason).collect(),
    )
}

macro_rules! v {
    ($n:literal) => {
        concat!("regx VGPR", $n, ", push_lane, lit4, mul, offset")
    };
}

/// LLVM's output, the size of the object, and the meaning.
#[rustfmt::skip]
const SHAPES: &[(&str, u64, &str)] = &[
    // Registers: clang up to 20 and Triton; clang from 22 on.
    ("regx VGPR3",                                                    32, v!("3")),
    ("regx SGPR4",                                                    32, "regx SGPR4"),
    ("bregx VGPR3+0, lit5, swap, xderef",                             32, v!("3")),
    ("bregx SGPR4+0, lit1, swap, xderef",                             32, "regx SGPR4"),
    // Bits beyond the register are left out.
    ("regx VGPR3",                                                    96, concat!(v!("3"), ", piece 0x4")),
    ("regx VGPR3, piece 8",                                           64, concat!(v!("3"), ", piece 0x4, piece 0x4")),
    ("regx VGPR3, piece 4, regx VGPR4, piece 4",                      64, concat!(v!("3"), ", piece 0x4, ", v!("4"), ", piece 0x4")),
    ("piece 4, regx VGPR4, piece 4",                                  64, concat!("piece 0x4, ", v!("4"), ", piece 0x4")),
    // Halves of registers.
    ("bregx VGPR3+0, constu 0xffff, and, lit5, swap, xderef",         16, v!("3")),
    ("bregx VGPR3+0, lit16, shr, constu 0xffff, and, lit5, swap, xderef", 16, concat!(v!("3"), ", offset_uconst 0x2")),
    ("bregx VGPR3+0, lit16, shr, constu 0xffff, and, lit5, swap, xderef, bit_piece 0x10 0x0", 16, concat!(v!("3"), ", offset_uconst 0x2, bit_piece 0x10 0x0")),
    // The stack.
    ("fbreg +16",                                                     64, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address"),
    ("fbreg -4",                                                      32, "regx SGPR33, deref_size 0x4, consts -4, plus, lit5, form_aspace_address"),
    ("fbreg +16, lit5, swap, xderef",                                 64, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address"),
    ("fbreg +16, lit1, swap, xderef",                                 64, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address"),
    ("fbreg +16, plus_uconst 0x4, lit1, swap, xderef",                64, "regx SGPR33, deref_size 0x4, lit16, plus, lit4, plus, lit5, form_aspace_address"),
    ("bregx SGPR32+8, lit5, swap, xderef",                            64, "regx SGPR32, deref_size 0x4, lit8, plus, lit5, form_aspace_address"),
    ("fbreg +16, piece 4, regx VGPR3, piece 4",                       64, concat!("regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, piece 0x4, ", v!("3"), ", piece 0x4")),
    // The target of a slot in local memory: such a pointer has four bytes.
    ("fbreg +16, deref, lit2, swap, xderef",                          64, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, deref_size 0x4, lit3, form_aspace_address"),
    // The space of the slot is named before an offset, as for structured bindings.
    ("fbreg +16, lit1, swap, xderef, plus_uconst 0x8",                64, "regx SGPR33, deref_size 0x4, lit16, plus, lit8, plus, lit5, form_aspace_address"),
    ("fbreg +16, lit5, swap, xderef, plus_uconst 0x8, piece 4, regx VGPR3, piece 4", 64, concat!("regx SGPR33, deref_size 0x4, lit16, plus, lit8, plus, lit5, form_aspace_address, piece 0x4, ", v!("3"), ", piece 0x4")),
    // The target of a slot without a space: a generic pointer has eight bytes.
    ("fbreg +16, deref",                                              32, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, deref_size 0x8, lit1, form_aspace_address"),
    ("fbreg +16, deref_size 8",                                       32, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, deref_size 0x8, lit1, form_aspace_address"),
    ("bregx SGPR33+192, deref",                                       96, "regx SGPR33, deref_size 0x4, const1u 0xc0, plus, lit5, form_aspace_address, deref_size 0x8, lit1, form_aspace_address"),
    ("bregx SGPR32+160, deref",                                       32, "regx SGPR32, deref_size 0x4, const1u 0xa0, plus, lit5, form_aspace_address, deref_size 0x8, lit1, form_aspace_address"),
    ("fbreg +16, lit1, swap, xderef, deref",                          32, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, deref_size 0x8, lit1, form_aspace_address"),
    ("fbreg +16, lit1, swap, xderef, deref, plus_uconst 0x8",         64, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, deref_size 0x8, lit8, plus, lit1, form_aspace_address"),
    ("fbreg +16, deref, plus_uconst 0x8, deref",                      64, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, deref_size 0x8, lit8, plus, lit1, form_aspace_address, deref_size 0x8, lit1, form_aspace_address"),
    // The space after a load is the pointer's space. An offset may overflow its 32 bits.
    ("fbreg +16, deref, lit2, swap, xderef, plus_uconst 0x8",         64, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, deref_size 0x4, lit8, plus, constu 0xffffffff, and, lit3, form_aspace_address"),
    ("fbreg +16, deref, lit5, swap, xderef, deref",                   32, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, deref_size 0x4, lit5, form_aspace_address, deref_size 0x8, lit1, form_aspace_address"),
    // A loaded value has the size of the object.
    ("fbreg +16, lit1, swap, xderef, deref, lit1, shl, stack_value",  32, "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, deref_size 0x4, lit1, shl, stack_value"),
    // Local memory, global memory.
    ("addrx 1, lit2, swap, xderef",                                   32, "constu 0x100, lit3, form_aspace_address"),
    ("addr 0x0, lit2, swap, xderef",                                  512, "lit0, lit3, form_aspace_address"),
    ("addr 0x1000, lit1, swap, xderef",                               32, "addr 0x1000"),
    ("addr 0x1000",                                                   32, "addr 0x1000"),
    // Constants.
    ("consts 3, lit5, swap, xderef, stack_value",                     32, "consts +3, stack_value"),
    ("consts -1, stack_value",                                        8,  "consts -1, stack_value"),
    ("implicit_value 0x2 0x1 0x2",                                    16, "implicit_value 0x2 0x01 0x02"),
    // Values: the low bits of a sum depend only on the operands' low bits, so there is no widening.
    ("bregx VGPR3+7, stack_value",                                    32, concat!(v!("3"), ", deref_size 0x4, lit7, plus, stack_value")),
    ("bregx VGPR3+0, bregx VGPR4+0, xor, lit5, swap, xderef, stack_value", 32, concat!(v!("3"), ", deref_size 0x4, ", v!("4"), ", deref_size 0x4, xor, stack_value")),
    ("bregx VGPR3+0, lit1, shl, stack_value",                         64, concat!(v!("3"), ", deref_size 0x4, lit1, shl, stack_value, piece 0x4")),
    // Quotients are signed.
    ("bregx VGPR3+0, lit3, div, stack_value",                         32, concat!(v!("3"), ", deref_size 0x4, lit3, swap, const1u 0x20, shl, const1u 0x20, shra, swap, div, stack_value")),
    // Before DWARF 5 integers were widened by hand.
    ("bregx VGPR3+0, constu 0xffffffff, and, stack_value",            64, concat!(v!("3"), ", deref_size 0x4, constu 0xffffffff, and, stack_value")),
    ("bregx VGPR3+0, dup, constu 31, shr, lit0, not, mul, constu 32, shl, or, stack_value", 64, concat!(v!("3"), ", deref_size 0x4, const1u 0x20, shl, const1u 0x20, shra, stack_value")),
    ("entry_value(regx VGPR3), stack_value",                          32, concat!("entry_value(", "DW3", "), stack_value")),
];

#[test]
fn what_llvm_writes_is_rewritten_to_what_it_means() {
    for (text, bits, expected) in SHAPES {
        let (found, doubts) = readings(text, *bits, &frame());
        assert_eq!(doubts, [], "{text}");
        let expected = expected.replace("DW3", concat!(v!("3"), ", deref_size 0x4"));
        assert_eq!(found, [expected], "{text}");
    }
}

/// A number shifted right by 8 has 24 bits, so zero-extension does not change it. Two such numbers compare the same as signed and as unsigned.
/// Shifted by 0, it can have all 32 bits.
#[test]
fn a_shift_right_leaves_zeros_above() {
    let widened = |count| {
        let text = format!("bregx VGPR3+0, {count}, shr, convert 0x2, convert 0x4, stack_value");
        let (found, doubts) = readings(&text, 64, &frame());
        assert_eq!(doubts, [], "{text}");
        found
    };
    let start = concat!(v!("3"), ", deref_size 0x4, ");
    assert_eq!(widened("lit8"), [format!("{start}lit8, shr, stack_value")]);
    let compared = |first, second| {
        let text = format!(
            "bregx VGPR3+0, {first}, shr, bregx VGPR4+0, {second}, shr, lt, convert 0x6, convert 0x5, stack_value"
        );
        let (found, doubts) = readings(&text, 8, &frame());
        assert_eq!(doubts, [], "{text}");
        found.len()
    };
    assert_eq!(compared("lit1", "lit1"), 1);
    assert_eq!(compared("lit31", "lit31"), 1);
    assert_eq!(compared("lit1", "lit0"), 2);
    assert_eq!(compared("lit0", "lit31"), 2);
}

/// An address plus a number is an address, in either order; a number minus an address is none.
#[test]
fn a_constant_minus_an_address_is_no_address() {
    let slot = "regx SGPR33, deref_size 0x4, lit16, plus";
    for (text, is_address) in [
        ("fbreg +16, lit4, plus", true),
        ("lit4, fbreg +16, plus", true),
        ("fbreg +16, lit4, minus", true),
        ("lit4, fbreg +16, minus", false),
    ] {
        let (found, doubts) = readings(text, 32, &frame());
        let is_found = found.iter().all(|reading| {
            reading.contains(slot) && reading.ends_with("lit5, form_aspace_address")
        });
        assert_eq!(
            is_found && doubts.is_empty(),
            is_address,
            "{text}: {found:?} {doubts:?}"
        );
        let expected: &[_] = if is_address {
            &[]
        } else {
            &[Ambiguity::AddressInRegister]
        };
        assert_eq!(doubts, expected, "{text}");
    }
}

/// If scratch is accessed by buffer instructions, frame registers count the bytes of all lanes.
#[test]
fn a_scaled_frame_register_is_divided_by_the_wave_size() {
    let frame = LegacyFrame {
        scaled_by: Some(WaveSize::Wave64),
        ..frame()
    };
    let (found, _) = readings("fbreg +16", 32, &frame);
    let expected = "regx SGPR33, deref_size 0x4, lit6, shr, lit16, plus, lit5, form_aspace_address";
    assert_eq!(found, [expected]);
}

/// A kernel's frame starts at private address 0.
#[test]
fn without_a_frame_base_a_kernel_has_its_frame_at_zero() {
    let frame = LegacyFrame {
        base: LegacyBase::Zero,
        ..frame()
    };
    let (found, _) = readings("fbreg +16, lit5, swap, xderef", 32, &frame);
    assert_eq!(found, ["lit0, lit16, plus, lit5, form_aspace_address"]);
}

/// Returns the meaning of the text in a unit without `DW_OP_stack_value`. The rest is like `Fake`.
fn without_stack_value(text: &str, bits: u64) -> (Vec<String>, Vec<Ambiguity>) {
    struct Dwarf3;
    impl LegacyUnit for Dwarf3 {
        fn space(&self, number: u64) -> Option<AddressSpace> {
            Fake.space(number)
        }
        fn integer(&self, unit: Unit, offset: u64) -> Option<IntegerType> {
            Fake.integer(unit, offset)
        }
        fn address(&self, unit: Unit, index: u64) -> Result<u64> {
            Fake.address(unit, index)
        }
        fn is_loaded(&self, address: u64) -> bool {
            Fake.is_loaded(address)
        }
        fn is_local(&self, address: u64, object_bits: Option<u64>) -> bool {
            Fake.is_local(address, object_bits)
        }
        fn has_stack_value(&self) -> bool {
            false
        }
    }
    printed(&rewrite_legacy(
        &expression(text, arena()),
        Some(object(bits, SlotPointer::Generic)),
        &frame(),
        &Dwarf3,
    ))
}

/// LLVM leaves out `DW_OP_stack_value` before DWARF 4, which introduced it.
#[test]
fn before_dwarf_4_a_constant_is_a_value() {
    for text in [
        "consts -5",
        "consts -5, lit5, swap, xderef",
        "consts -5, lit1, swap, xderef",
    ] {
        let (found, doubts) = without_stack_value(text, 32);
        assert_eq!(
            (found, doubts),
            (vec!["consts -5, stack_value".to_owned()], vec![]),
            "{text}"
        );
        // From DWARF 4 on it would be an address, which LLVM does not write.
        let (_, doubts) = readings(text, 32, &frame());
        assert_eq!(doubts, [Ambiguity::AddressInRegister], "{text}");
    }
    let (found, _) =
        without_stack_value("lit1, lit5, swap, xderef, piece 4, regx VGPR3, piece 4", 64);
    let expected = concat!("lit1, stack_value, piece 0x4, ", v!("3"), ", piece 0x4");
    assert_eq!(found, [expected]);
    // An expression of more than constants may be an address.
    let (_, doubts) = without_stack_value("bregx VGPR3+4, lit5, swap, xderef", 32);
    assert_eq!(doubts, [Ambiguity::AddressInRegister]);
}

/// The slot of a result in memory from the caller holds a pointer into private memory.
#[test]
fn a_slot_may_hold_a_pointer_of_four_bytes() {
    let slot = "regx SGPR33, deref_size 0x4, lit16, plus, lit5, form_aspace_address, ";
    let private = format!("{slot}deref_size 0x4, lit5, form_aspace_address");
    let generic = format!("{slot}deref_size 0x8, lit1, form_aspace_address");
    let text = "fbreg +16, lit1, swap, xderef, deref";
    let read = |text, pointer| {
        let object = Some(object(128, pointer));
        printed(&rewrite_legacy(
            &expression(text, arena()),
            object,
            &frame(),
            &Fake,
        ))
        .0
    };
    assert_eq!(read(text, SlotPointer::Generic), [generic.as_str()]);
    assert_eq!(read(text, SlotPointer::Private), [private.as_str()]);
    assert_eq!(
        read(text, SlotPointer::Unknown),
        [generic.as_str(), private.as_str()]
    );
    // The slot of a binding leads to the object by an offset, and holds a reference.
    let moved = format!("{slot}deref_size 0x8, lit8, plus, lit1, form_aspace_address");
    let text = "fbreg +16, lit1, swap, xderef, deref, plus_uconst 0x8";
    assert_eq!(read(text, SlotPointer::Unknown), [moved]);
}

#[test]
fn what_cannot_be_told_is_a_doubt() {
    let unknown = LegacyFrame {
        base: LegacyBase::Unknown,
        ..frame()
    };
    let with = |text, frame| readings(text, 32, frame).1;
    #[rustfmt::skip]
    let doubts = [
        ("fbreg +4",                                   Ambiguity::FrameBase),
        ("fbreg +4, lit5, swap, xderef",               Ambiguity::FrameBase),
        ("addr 0x100, lit4, swap, xderef",             Ambiguity::AddressSpace(4)),
        // Every address in local memory except 0 was assigned by a linker or programmer.
        ("addr 0x0, lit2, swap, xderef",               Ambiguity::UndefinedSymbol(0)),
        ("bregx VGPR3+4, lit5, swap, xderef",          Ambiguity::AddressInRegister),
        ("bregx VGPR3+0",                              Ambiguity::AddressInRegister),
        ("bregx VGPR3+0, deref, stack_value",          Ambiguity::AddressInRegister),
        ("bregx VGPR3+0, lit2, swap, xderef",          Ambiguity::AddressInRegister),
        ("bregx VGPR3+0, skip 0, stack_value",         Ambiguity::Operation("DW_OP_skip")),
        ("bregx VGPR3+0, call4 0x20",                  Ambiguity::Operation("DW_OP_call4")),
        ("bregx VGPR3+0, convert 0x63, stack_value",   Ambiguity::Operation("DW_OP_convert to a type that is no integer")),
        ("bregx VGPR3+0, bregx VGPR4+0, convert 0x1, convert 0x3, plus, stack_value", Ambiguity::Width),
    ];
    for (text, reason) in doubts {
        assert_eq!(with(text, &unknown), [reason], "{text}");
    }
}

/// Clang 22 writes the address of a variable-length array as if the register were the variable.
#[test]
fn what_a_register_cannot_hold_is_not_read_from_it() {
    for (text, reason) in [
        (
            "bregx SGPR6+0, lit1, swap, xderef",
            Ambiguity::AddressInRegister,
        ),
        ("bregx VGPR6+0, lit5, swap, xderef", Ambiguity::PartOfObject),
        ("regx VGPR6", Ambiguity::PartOfObject),
    ] {
        for bits in [128, u64::MAX] {
            assert_eq!(readings(text, bits, &frame()).1, [reason], "{text}");
        }
    }
}

/// One unknown part does not affect the others.
#[test]
fn a_doubt_is_of_its_part() {
    let text = "regx VGPR3, piece 4, bregx VGPR4+0, piece 4, regx VGPR5, piece 4";
    let meaning = meaning(text, 96, &frame());
    let doubt = Doubt {
        bits: 32..64,
        reason: Ambiguity::AddressInRegister,
    };
    assert_eq!(meaning.doubts, [doubt]);
    let (found, _) = readings(text, 96, &frame());
    let expected = concat!(v!("3"), ", piece 0x4, piece 0x4, ", v!("5"), ", piece 0x4");
    assert_eq!(found, [expected]);
}

#[test]
fn what_cannot_be_decoded_is_left_to_the_evaluation() {
    let bytes = [0x90];
    let expression = ExpressionBytes::alone(&bytes, Unit::unknown(Encoding::AMDGPU));
    let meaning = rewrite_legacy(&expression, None, &frame(), &Fake);
    assert_eq!(meaning.readings.as_slice(), [bytes.to_vec()]);
}

/// Returns a wave of 64 lanes whose registers v0 to v3 hold `lanes`.
fn wave(lanes: &[[u32; 64]; 4]) -> Snapshot {
    let mut wave = Snapshot::new("gfx90a", WaveSize::Wave64, 0);
    for (number, values) in (0u16..).zip(lanes) {
        let register = Register::vgpr(number, WaveSize::Wave64).unwrap();
        let values: Vec<_> = values.iter().copied().map(Some).collect();
        wave.set_lanes(register, &values).unwrap();
    }
    wave
}

/// Evaluates each reading of a location in a lane.
fn evaluated(text: &str, bits: u64, wave: &Snapshot, lane: Lane) -> Vec<Bits> {
    let arena = arena();
    let written = expression(text, arena);
    let object = ObjectShape {
        bits,
        byte_elements: false,
        slot_pointer: SlotPointer::Generic,
    };
    let meaning = rewrite_legacy(&written, Some(object), &frame(), &Fake);
    assert_eq!(meaning.doubts, [], "{text}");
    let unit = Unit::unknown(Encoding::AMDGPU.in_memory());
    (meaning.readings.iter())
        .map(|bytes| {
            let context = Context {
                wave: Some(wave),
                lane: LaneFocus::One(lane),
                reading: Reading::Tolerant,
                ..Context::new(arena)
            };
            let reading = ExpressionBytes::alone(arena.keep(bytes.clone()), unit);
            let location = locate(&LocationAttribute::Expression(reading), &context)
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            let access = Access {
                wave,
                lane: Some(lane),
                max_bits: 64,
                meter: None,
            };
            read(&location, bits, &access).unwrap()
        })
        .collect()
}

/// An expression over `int` variables.
#[derive(Clone, Debug)]
enum Int {
    Variable(u8),
    Constant(i32),
    Binary(&'static str, Box<Int>, Box<Int>),
    Shift(&'static str, Box<Int>, u8),
    Unary(&'static str, Box<Int>),
}

impl Int {
    /// Formats it like LLVM.
    fn text(&self) -> String {
        match self {
            Int::Variable(number) => format!("bregx VGPR{number}+0"),
            Int::Constant(value) => format!("consts {value}"),
            Int::Binary(operation, a, b) => format!("{}, {}, {operation}", a.text(), b.text()),
            Int::Shift(operation, a, count) => format!("{}, constu {count}, {operation}", a.text()),
            Int::Unary(operation, a) => format!("{}, {operation}", a.text()),
        }
    }

    /// Returns true if it has a variable. Compilers write no operations on constants alone.
    fn is_variable(&self) -> bool {
        match self {
            Int::Variable(_) => true,
            Int::Constant(_) => false,
            Int::Binary(_, a, b) => a.is_variable() || b.is_variable(),
            Int::Shift(_, a, _) | Int::Unary(_, a) => a.is_variable(),
        }
    }

    /// Computes its value like C. Returns `None` if C has none.
    fn value(&self, variables: &[i32; 4]) -> Option<i32> {
        Some(match self {
            Int::Variable(number) => variables[usize::from(*number)],
            Int::Constant(value) => *value,
            Int::Binary(operation, a, b) => {
                let (a, b) = (a.value(variables)?, b.value(variables)?);
                match *operation {
                    "plus" => a.wrapping_add(b),
                    "minus" => a.wrapping_sub(b),
                    "mul" => a.wrapping_mul(b),
                    "and" => a & b,
                    "or" => a | b,
                    "xor" => a ^ b,
                    "div" => a.checked_div(b)?,
                    _ => a.checked_rem(b)?,
                }
            }
            Int::Shift(operation, a, count) => {
                let a = a.value(variables)?;
                match *operation {
                    "shl" => a.wrapping_shl((*count).into()),
                    "shr" => (a.cast_unsigned() >> count).cast_signed(),
                    _ => a >> count,
                }
            }
            Int::Unary(operation, a) => {
                let a = a.value(variables)?;
                match *operation {
                    "not" => !a,
                    _ => a.wrapping_neg(),
                }
            }
        })
    }
}

fn ints() -> impl Strategy<Value = Int> {
    let leaf = prop_oneof![
        (0u8..4).prop_map(Int::Variable),
        any::<i32>().prop_map(Int::Constant),
        (-4i32..5).prop_map(Int::Constant),
    ];
    let ints =
        leaf.prop_recursive(4, 24, 2, |inner| {
            let operation = prop::sample::select(vec![
                "plus", "minus", "mul", "and", "or", "xor", "div", "mod",
            ]);
            let shift = prop::sample::select(vec!["shl", "shr", "shra"]);
            prop_oneof![
                (operation, inner.clone(), inner.clone())
                    .prop_map(|(operation, a, b)| Int::Binary(operation, a.into(), b.into())),
                (shift, inner.clone(), 0u8..32).prop_map(|(operation, a, count)| Int::Shift(
                    operation,
                    a.into(),
                    count
                )),
                (prop::sample::select(vec!["not", "neg"]), inner)
                    .prop_map(|(operation, a)| Int::Unary(operation, a.into())),
            ]
            .prop_map(|int| {
                if int.is_variable() {
                    int
                } else {
                    Int::Variable(0)
                }
            })
        });
    ints.boxed()
}

/// Generates the contents of v0 to v3.
fn lanes() -> impl Strategy<Value = [[u32; 64]; 4]> {
    let number = prop_oneof![
        any::<u32>(),
        0u32..20,
        (0u32..20).prop_map(|n| 0u32.wrapping_sub(n))
    ];
    prop::collection::vec(number, 256).prop_map(|numbers| {
        let mut lanes = [[0; 64]; 4];
        for (to, from) in lanes.iter_mut().flatten().zip(numbers) {
            *to = from;
        }
        lanes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A value over `int` variables equals C's result, both as an `int` and widened to a `long` by sign or by zeros.
    #[test]
    fn values_are_what_c_computes(int in ints(), lanes in lanes()) {
        let wave = wave(&lanes);
        let has_register = int.is_variable();
        for lane in [0u8, 1, 17, 63] {
            let variables = lanes.map(|lanes| lanes[usize::from(lane)].cast_signed());
            let Some(expected) = int.value(&variables) else { continue };
            let check = |suffix: &str, bits: u64, expected: &[u8]| {
                let text = format!("{}{suffix}, stack_value", int.text());
                for found in evaluated(&text, bits, &wave, Lane(lane)) {
                    assert_eq!(found.bytes, expected, "{text} in lane {lane}");
                }
            };
            check("", 32, &expected.to_le_bytes());
            check(", lit5, swap, xderef", 32, &expected.to_le_bytes());
            // To `char` and back to `int`, unsigned.
            check(", convert 0x2, convert 0x5, convert 0x2", 32, &i32::from(expected.to_le_bytes()[0]).to_le_bytes());
            if has_register {
                check(", convert 0x1, convert 0x3", 64, &i64::from(expected).to_le_bytes());
                check(", convert 0x2, convert 0x4", 64, &u64::from(expected.cast_unsigned()).to_le_bytes());
                check(", dup, constu 31, shr, lit0, not, mul, constu 32, shl, or", 64, &i64::from(expected).to_le_bytes());
            }
        }
    }

    /// A comparison gets a signed and an unsigned reading, one of which is intended.
    #[test]
    fn comparisons_have_both_readings(a in ints(), b in ints(), relation in 0usize..6, lanes in lanes()) {
        let relation = ["lt", "le", "gt", "ge", "eq", "ne"][relation];
        let text = format!("{}, {}, {relation}, convert 0x6, convert 0x5, stack_value", a.text(), b.text());
        prop_assume!(a.is_variable() || b.is_variable());
        let wave = wave(&lanes);
        for lane in [0u8, 5, 63] {
            let variables = lanes.map(|lanes| lanes[usize::from(lane)].cast_signed());
            let (Some(a), Some(b)) = (a.value(&variables), b.value(&variables)) else { continue };
            let compare = |order: core::cmp::Ordering| match relation {
                "lt" => order.is_lt(),
                "le" => order.is_le(),
                "gt" => order.is_gt(),
                "ge" => order.is_ge(),
                "eq" => order.is_eq(),
                _ => order.is_ne(),
            };
            let expected = [compare(a.cmp(&b)), compare(a.cast_unsigned().cmp(&b.cast_unsigned()))];
            let found = evaluated(&text, 8, &wave, Lane(lane));
            let found: Vec<bool> = found.iter().map(|bits| bits.bytes[0] == 1).collect();
            prop_assert!(
                found.as_slice() == expected || (found.len() == 1 && expected == [found[0]; 2]),
                "{text}: {a} {relation} {b} gives {found:?}",
            );
        }
    }
}
