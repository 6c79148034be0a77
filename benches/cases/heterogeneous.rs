//! Measures the evaluation of typical expressions of AMDGPU compilers, and reading a variable in a vector register.
//!
//! Each expression is evaluated for all lanes at once if possible, and otherwise for one lane. Registers and memory hold a pattern, and
//! reading them costs almost nothing.

use std::ops::Range;

use super::evaluators::bytes;
use super::{Case, Maker, maker};
use hetdwarf::arch::{AddressSpace, Lane, Register, WaveSize};
use hetdwarf::eval::{
    BaseType, Context, DieReference, ExpressionBytes, LaneFocus, LocationAttribute, LocationEntry,
    Outcome, PerLane, Procedure, Reading, Resolver, ResultKind, Unit, evaluate, locate_lanes,
};
use hetdwarf::expr::Encoding;
use hetdwarf::location::{
    Access, Arena, LaneBits, LaneSelect, Location, Place, Storage, read, read_lanes,
};
use hetdwarf::wave::{AccessError, Memory, Wave};

/// A single lane.
const ONE: LaneFocus = LaneFocus::One(Lane(3));
/// The location of a lane's dword in a vector register.
const VGPR: &str =
    "DW_OP_regx VGPR42, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset";

/// Typical expressions: a name, the expression, its lanes, and true if a CFA is on the stack at the start.
const SHAPES: [(&str, &str, LaneFocus, bool); 15] = [
    ("VGPR, all lanes", VGPR, LaneFocus::All, false),
    ("VGPR, one lane", VGPR, ONE, false),
    (
        "two VGPRs",
        "DW_OP_regx VGPR42, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset, DW_OP_piece 0x4, \
         DW_OP_regx VGPR43, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset, DW_OP_piece 0x4, \
         DW_OP_LLVM_piece_end",
        LaneFocus::All,
        false,
    ),
    (
        "high half of a VGPR",
        "DW_OP_regx VGPR42, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset, \
         DW_OP_LLVM_offset_uconst 0x2",
        LaneFocus::All,
        false,
    ),
    (
        "stack, buffer targets",
        "DW_OP_regx SGPR33, DW_OP_deref_size 0x4, DW_OP_lit6, DW_OP_shr, DW_OP_lit20, DW_OP_plus, DW_OP_lit5, \
         DW_OP_LLVM_form_aspace_address",
        LaneFocus::All,
        false,
    ),
    (
        "stack, scratch targets",
        "DW_OP_regx SGPR33, DW_OP_deref_size 0x4, DW_OP_lit20, DW_OP_plus, DW_OP_lit5, DW_OP_LLVM_form_aspace_address",
        LaneFocus::All,
        false,
    ),
    (
        "global",
        "DW_OP_addrx 0x0, DW_OP_lit0, DW_OP_LLVM_form_aspace_address",
        LaneFocus::All,
        false,
    ),
    (
        "fragments",
        "DW_OP_lit0, DW_OP_regx SGPR50, DW_OP_piece 0x4, DW_OP_regx SGPR51, DW_OP_piece 0x4, DW_OP_LLVM_piece_end, \
         DW_OP_swap, DW_OP_drop, DW_OP_piece 0x8, DW_OP_lit0, DW_OP_regx SGPR52, DW_OP_swap, DW_OP_drop, \
         DW_OP_piece 0x4, DW_OP_LLVM_piece_end",
        LaneFocus::All,
        false,
    ),
    (
        "pointer in two VGPRs",
        "DW_OP_regx VGPR42, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset, DW_OP_piece 0x4, \
         DW_OP_regx VGPR43, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset, DW_OP_piece 0x4, \
         DW_OP_LLVM_piece_end, DW_OP_deref_size 0x8, DW_OP_lit1, DW_OP_LLVM_form_aspace_address",
        ONE,
        false,
    ),
    (
        "CFA of a kernel",
        "DW_OP_lit0, DW_OP_lit6, DW_OP_LLVM_form_aspace_address",
        LaneFocus::All,
        false,
    ),
    (
        "CFA, scaled",
        "DW_OP_regx SGPR32, DW_OP_deref_size 0x4, DW_OP_lit5, DW_OP_shl, DW_OP_lit6, DW_OP_LLVM_form_aspace_address",
        LaneFocus::All,
        false,
    ),
    (
        "return address in two SGPRs",
        "DW_OP_regx SGPR30, DW_OP_piece 0x4, DW_OP_regx SGPR31, DW_OP_piece 0x4",
        LaneFocus::All,
        true,
    ),
    (
        "SGPR in a lane",
        "DW_OP_regx VGPR41, DW_OP_bit_piece 0x20 0x380",
        LaneFocus::All,
        true,
    ),
    (
        "VGPR saved under a mask",
        "DW_OP_regx VGPR40, DW_OP_swap, DW_OP_LLVM_offset_uconst 0x100, DW_OP_LLVM_call_frame_entry_reg EXEC, \
         DW_OP_deref_size 0x8, DW_OP_LLVM_select_bit_piece 0x20 0x40",
        LaneFocus::All,
        true,
    ),
    (
        "GCC's CFA",
        "DW_OP_bregx SGPR17+0, DW_OP_const1u 0x20, DW_OP_shl, DW_OP_bregx SGPR16+0, DW_OP_plus",
        LaneFocus::All,
        false,
    ),
];

const UNIT: Unit = Unit::unknown(Encoding::AMDGPU);

pub(super) fn makers() -> Vec<Maker> {
    let mut makers = Vec::new();
    for (subject, text, lane, with_cfa) in SHAPES {
        makers.push(maker(format!("shapes/{subject}"), move || {
            let bytes = bytes(text);
            Case::new(move || shape(bytes, lane, with_cfa))
        }));
    }
    makers.push(maker("VGPR variable/one lane", || {
        let bytes = bytes(VGPR);
        assert_eq!(one_lane(bytes), 0x0d0c_0b0a + 0x0404_0404 * 3);
        Case::new(move || one_lane(bytes))
    }));
    makers.push(maker("VGPR variable/64 lanes", || {
        let bytes = bytes(VGPR);
        let found = all_lanes(bytes);
        let row = WaveSize::Wave64
            .all_lanes()
            .flat_map(|lane| found.bytes(lane));
        assert!(row.eq(&ROW[..256]));
        Case::new(move || all_lanes(bytes))
    }));
    makers
}

/// A wave of 64 lanes, with the same bytes in each register and at every 256 bytes of memory.
struct Pattern;

static ROW: [u8; 512] = {
    let mut row = [0; 512];
    let mut at = 0;
    while at < row.len() {
        row[at] = (at as u8).wrapping_add(10);
        at += 1;
    }
    row
};

impl Wave for Pattern {
    fn wave_size(&self) -> WaveSize {
        WaveSize::Wave64
    }

    fn read_register(
        &self,
        _: Register,
        bits: Range<u32>,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        let start = (bits.start / 8) as usize;
        out.copy_from_slice(&ROW[start..start + out.len()]);
        Ok(())
    }

    fn read_memory(&self, _: Memory, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let start = (address % 256) as usize;
        out.copy_from_slice(&ROW[start..start + out.len()]);
        Ok(())
    }
}

/// A resolver that knows the addresses of global variables.
struct Addresses;

impl<'a> Resolver<'a> for Addresses {
    fn procedure(&self, _: Unit, _: DieReference) -> hetdwarf::Result<Procedure<'a>> {
        panic!("no expression calls")
    }

    fn base_type(&self, _: Unit, _: u64) -> hetdwarf::Result<BaseType> {
        panic!("no expression has a type")
    }

    fn address(&self, _: Unit, index: u64) -> hetdwarf::Result<u64> {
        Ok(0x2000 + index * 8)
    }

    fn location_list(
        &self,
        _: Unit,
        _: u64,
        _: u64,
        _: &mut dyn FnMut(Option<LocationEntry<'a>>) -> hetdwarf::Result<()>,
    ) -> hetdwarf::Result<()> {
        panic!("there are no lists")
    }
}

fn context<'c, 'a>(arena: &'a Arena<'a>, lane: LaneFocus) -> Context<'c, 'a> {
    Context::new(arena)
        .with_wave(&Pattern)
        .with_resolver(&Addresses)
        .with_lane(lane)
        .with_reading(Reading::Tolerant)
}

fn attribute(bytes: &[u8]) -> LocationAttribute<'_> {
    LocationAttribute::Expression(ExpressionBytes::alone(bytes, UNIT))
}

/// Evaluates an expression of call frame information or of a variable.
fn shape(bytes: &'static [u8], lane: LaneFocus, with_cfa: bool) -> bool {
    let arena = Arena::new();
    let cfa = Location::One(Place::new(
        Storage::Memory {
            space: AddressSpace::PrivateWave,
            lane: LaneSelect::None,
        },
        0x4000,
    ));
    let initial = [Outcome::Location(cfa)];
    let initial: &[_] = if with_cfa { &initial } else { &[] };
    let context = context(&arena, lane).with_initial_stack(initial);
    let expression = ExpressionBytes::alone(bytes, UNIT);
    match evaluate(&expression, ResultKind::Location, &context).unwrap() {
        Outcome::Location(location) => location.stands_for_all_lanes(),
        Outcome::Value(_) => panic!("a location was asked for"),
    }
}

/// Evaluates the location of a variable for a lane and reads its bits.
fn one_lane(bytes: &'static [u8]) -> u32 {
    let arena = Arena::new();
    let context = context(&arena, ONE);
    let expression = ExpressionBytes::alone(bytes, UNIT);
    let Outcome::Location(location) =
        evaluate(&expression, ResultKind::Location, &context).unwrap()
    else {
        panic!("a location was asked for")
    };
    let access = Access {
        wave: &Pattern,
        lane: Some(Lane(3)),
        max_bits: 1 << 16,
        meter: None,
    };
    let bits = read(&location, 32, &access).unwrap();
    assert!(bits.is_complete());
    u32::from_le_bytes(bits.bytes.as_slice().try_into().unwrap())
}

/// Evaluates the location of a variable for all lanes and reads their bits.
fn all_lanes(bytes: &'static [u8]) -> LaneBits {
    let arena = Arena::new();
    let context = context(&arena, LaneFocus::All);
    let PerLane::All(location) = locate_lanes(&attribute(bytes), &context).unwrap() else {
        panic!("one location stands for all lanes")
    };
    read_lanes(
        &location,
        32,
        &Access {
            wave: &Pattern,
            lane: None,
            max_bits: 1 << 16,
            meter: None,
        },
    )
    .unwrap()
}
