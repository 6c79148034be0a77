//! Tests a complete analysis: it computes the numbers that registers, lanes and scratch hold whenever an instruction is reached.

mod edges;

use core::convert::Infallible;
use std::collections::BTreeMap;

use super::*;
use crate::abi::Callees;
use crate::arch::{Processor, WaveSize};
use crate::isa::{Access, AccessKind, Decoder, Effect, MachineRegister, Operand, ScalarOp};

/// A dword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Is(u32),
    Unknown,
}

impl Scalar for Number {
    const UNKNOWN: Number = Number::Unknown;

    fn of_word(word: u32) -> Number {
        Number::Is(word)
    }

    fn word(self) -> Option<u32> {
        match self {
            Number::Is(word) => Some(word),
            Number::Unknown => None,
        }
    }

    fn join(self, other: Number) -> Number {
        if self == other { self } else { Number::Unknown }
    }
}

/// Scratch at a constant address, in bytes of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Address(i64);

impl Row for Address {
    fn is_comparable(self, _: Address) -> bool {
        true
    }

    fn offset(self) -> i64 {
        self.0
    }

    fn at(self, offset: i64) -> Address {
        Address(offset)
    }
}

/// The lanes of a vector register whose numbers are known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Numbers(BTreeMap<u8, u32>);

impl Lanes for Numbers {
    type Scalar = Number;
    type Row = Address;

    const UNKNOWN: Numbers = Numbers(BTreeMap::new());

    fn of_register(_: MachineRegister) -> Numbers {
        Numbers::UNKNOWN
    }

    fn of_row(_: Address) -> Numbers {
        Numbers::UNKNOWN
    }

    fn lane(&self, lane: u8) -> Number {
        self.0
            .get(&lane)
            .map_or(Number::Unknown, |word| Number::Is(*word))
    }

    fn join(&self, other: &Numbers) -> Option<Numbers> {
        let mut joined = self.clone();
        joined
            .0
            .retain(|lane, word| other.0.get(lane) == Some(word));
        (joined != *self).then_some(joined)
    }
}

/// The analysis, for code in which all lanes execute.
struct Constants<'c>(&'c Code);

type State = Box<Machine<Numbers>>;

impl Transfer for Constants<'_> {
    type Lanes = Numbers;
    type State = State;
    type Place = ();

    fn wave_size(&self) -> WaveSize {
        WaveSize::Wave32
    }

    fn operand(&self, state: &State, operand: Operand, n: u8) -> Number {
        state.operand(operand, n)
    }

    fn reached(&self, state: &State, access: &Access) -> Reached<Address> {
        let base = state.operand(access.base, 0);
        match (access.kind, access.address, base) {
            (AccessKind::Scratch, None, Number::Is(base)) => {
                Reached::Row(Address(i64::from(base) + i64::from(access.offset)))
            }
            (AccessKind::Scratch, _, _) => Reached::Scratch,
            _ => Reached::Elsewhere,
        }
    }

    fn write_scalar(&self, state: &mut State, _: (), register: MachineRegister, value: Number) {
        state.scalars.set(register, value);
    }

    fn write_lane(
        &self,
        state: &mut State,
        _: (),
        register: MachineRegister,
        lane: u8,
        value: Number,
    ) {
        state.change_vector(register, |lanes| match value {
            Number::Is(word) => drop(lanes.0.insert(lane, word)),
            Number::Unknown => drop(lanes.0.remove(&lane)),
        });
    }

    fn overwritten(&self, _: &State, _: (), _: &Numbers, new: &Numbers) -> Option<Numbers> {
        Some(new.clone())
    }
}

impl Analysis for Constants<'_> {
    type State = State;
    type Failure = Infallible;

    fn charge(&mut self, _: usize) -> Result<(), Infallible> {
        Ok(())
    }

    fn follow(&mut self, code: &Code, _: &State, index: usize) -> Result<Targets, Infallible> {
        Ok(targets(code, index))
    }

    fn step(&mut self, state: &mut State, index: usize) {
        let instruction = &self.0.instructions[index];
        let Effect::Scalar { op, dst, a, b } = instruction.effect else {
            return self.step_rest(state, (), instruction);
        };
        let value = match (op, state.operand(a, 0), state.operand(b, 0)) {
            (ScalarOp::Mov, a, _) => a,
            (ScalarOp::Add, Number::Is(a), Number::Is(b)) => Number::Is(a.wrapping_add(b)),
            _ => Number::Unknown,
        };
        self.write_scalars(state, (), dst, value);
    }

    fn join(&mut self, known: Option<&mut State>, state: &State) -> Result<bool, Infallible> {
        Ok(known.is_none_or(|known| known.join(state)))
    }
}

/// Decodes code of gfx1100. LLVM 22's assembler made the encodings.
fn code(dwords: &[u32]) -> Code {
    let processor = Processor::by_name("gfx1100").unwrap();
    let decoder = Decoder::new(processor, Some(WaveSize::Wave32)).unwrap();
    let bytes: Vec<u8> = dwords.iter().flat_map(|one| one.to_le_bytes()).collect();
    Code::new(&decoder, &Callees::new(None, []), 0x1000, &bytes).unwrap()
}

/// Returns the numbers in `s0` to `s4` before an instruction. On entry to the function, nothing is known.
fn numbers_before(code: &Code, address: u64) -> Option<[Option<u32>; 5]> {
    let entry = Box::new(Machine::new(|_| Number::Unknown));
    let Ok(solution) = solve(code, 0, entry, &mut Constants(code));
    let index = code.index_of(address).unwrap();
    let step = |state: &mut State, index| Constants(code).step(state, index);
    let state = solution.before(code, index, step)?;
    Some([0, 1, 2, 3, 4].map(|n| state.scalars.get(MachineRegister::Sgpr(n)).word()))
}

#[test]
fn a_number_is_known_if_all_paths_agree_on_it() {
    let code = code(&[
        0xbe80_0085, // 1000 s_mov_b32 s0, 5
        0xbe81_0081, // 1004 s_mov_b32 s1, 1
        0xd761_0029,
        0x0001_0200, // 1008 v_writelane_b32 v41, s0, 1
        0xbfa1_0003, // 1010 s_cbranch_scc0 3 (to 1020)
        0xbe80_0086, // 1014 s_mov_b32 s0, 6
        0xbe84_0081, // 1018 s_mov_b32 s4, 1
        0xbfa0_0001, // 101c s_branch 1 (to 1024)
        0xbe84_0081, // 1020 s_mov_b32 s4, 1
        0xd760_0002,
        0x0001_0329, // 1024 v_readlane_b32 s2, v41, 1
        0x8103_8202, // 102c s_add_i32 s3, s2, 2
        0xbfb0_0000, // 1030 s_endpgm
    ]);
    let before = |address| numbers_before(&code, address);
    assert_eq!(
        before(0x101c),
        Some([Some(6), Some(1), None, None, Some(1)])
    );
    assert_eq!(
        before(0x1030),
        Some([None, Some(1), Some(5), Some(7), Some(1)])
    );
}

#[test]
fn a_number_that_a_loop_changes_is_unknown() {
    let code = code(&[
        0xbe80_0080, // 1000 s_mov_b32 s0, 0
        0xbe81_0087, // 1004 s_mov_b32 s1, 7
        0x8100_8100, // 1008 s_add_i32 s0, s0, 1
        0xbfa1_fffe, // 100c s_cbranch_scc0 -2 (to 1008)
        0xbfb0_0000, // 1010 s_endpgm
        0xbe80_0080, // 1014 s_mov_b32 s0, 0
    ]);
    let before = |address| numbers_before(&code, address);
    assert_eq!(before(0x1008), Some([None, Some(7), None, None, None]));
    assert_eq!(before(0x1014), None);
}

/// Stored lanes are loaded from the same address, unless a later store went to an unknown one.
#[test]
fn lanes_are_found_in_scratch_where_they_were_stored() {
    let code = |between: &[u32]| {
        let mut dwords = vec![
            0xbe80_0085, // s_mov_b32 s0, 5
            0xbea0_0080, // s_mov_b32 s32, 0
            0xd761_0029,
            0x0001_0200, // v_writelane_b32 v41, s0, 1
            0xdc69_0004,
            0x0020_2900, // scratch_store_b32 off, v41, s32 offset:4
        ];
        dwords.extend(between);
        dwords.extend([
            0xdc51_0004,
            0x2a20_0000, // scratch_load_b32 v42, off, s32 offset:4
            0xd760_0002,
            0x0001_032a, // v_readlane_b32 s2, v42, 1
            0xbfb0_0000, // s_endpgm
        ]);
        code(&dwords)
    };
    let read = |code: &Code| {
        let end = code.instructions.last().unwrap().address;
        numbers_before(code, end).unwrap()[2]
    };
    assert_eq!(read(&code(&[])), Some(5));
    // scratch_store_b32 off, v43, s32 offset:8, and then at s33, which is unknown
    assert_eq!(read(&code(&[0xdc69_0008, 0x0020_2b00])), Some(5));
    assert_eq!(read(&code(&[0xdc69_0000, 0x0021_2b00])), None);
}

/// The predecessors of an instruction are the instructions with an edge to it.
#[test]
fn predecessors_have_an_edge_to_the_instruction() {
    let code = code(&[
        0xbfa1_0003, // 1000 s_cbranch_scc0 3 (to 1010)
        0xbe80_0085, // 1004 s_mov_b32 s0, 5
        0xbfa1_0000, // 1008 s_cbranch_scc0 0 (to 100c)
        0xbfa0_0001, // 100c s_branch 1 (to 1014)
        0xbfa0_fffb, // 1010 s_branch -5 (to 1000)
        0xbfa1_fffb, // 1014 s_cbranch_scc0 -5 (to 1004)
        0xbfb0_0000, // 1018 s_endpgm
        0xbfb0_0000, // 101c s_endpgm
    ]);
    let count = code.instructions.len();
    for to in 0..count {
        let mut before: Vec<usize> = code.before(to).collect();
        before.sort_unstable();
        let goes_there = |from: usize| {
            let edges = code.edges(from).filter(move |edge| *edge == Edge::To(to));
            edges.map(move |_| from)
        };
        let expected: Vec<usize> = (0..count).flat_map(goes_there).collect();
        assert_eq!(before, expected, "{to}");
    }
    // In reverse postorder, a block comes after its predecessors, except in loops: s_endpgm is last.
    let order = |index| code.order(index);
    assert!(order(0) < order(1) && order(1) < order(5) && order(5) < order(6));
    // The last instruction has no predecessors.
    assert_eq!((code.order(7), code.before(7).count()), (0, 0));
}
