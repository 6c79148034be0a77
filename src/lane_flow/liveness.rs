//! Finds the dwords that can still reach EXEC, by strong liveness analysis backwards through the function: the operands of an instruction
//! are live only if its result is.
//!
//! The result affects precision and speed only. States that differ in dead values become equal. A live value that was forgotten by mistake
//! would become unknown.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "few instructions read what can reach EXEC"
)]

use core::ops::Range;
use std::collections::BTreeMap;

use petgraph::Direction;
use petgraph::graph::NodeIndex;

use super::facts::Marks;
use super::fuel::Fuel;
use super::place::Slot;
use super::value::Bitwise;
use crate::isa::{AccessKind, Effect, Instruction, MachineRegister, Operand, ScalarOp, Span};
use crate::machine_flow::{Code, Graph, STACK_REGISTERS, bit};

/// The most dwords that the sets of a function may need.
const MOST_WORDS: usize = 1 << 20;

/// A vector register or a row of scratch whose lanes hold scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Dword {
    /// A vector register.
    Register(MachineRegister),
    /// A row of scratch, in terms of the entry.
    Row(Slot),
}

/// A set of live dwords.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Live {
    /// The live scalar registers, one bit per number.
    pub(super) scalars: u128,
    /// The live lanes of each of [`Liveness::dwords`], one bit per lane.
    pub(super) lanes: Box<[u64]>,
}

/// The live dwords of a function.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    dwords: Vec<Dword>,
    /// The live dwords before the first instruction of each block.
    blocks: BTreeMap<usize, Live>,
    /// The reads and writes of lanes whose values do not reach EXEC, sorted.
    unneeded: Vec<usize>,
}

impl Liveness {
    pub(super) fn dwords(&self) -> &[Dword] {
        &self.dwords
    }

    /// Returns the live dwords before the first instruction of a block. `None` if they are unknown.
    pub(super) fn live(&self, index: usize) -> Option<&Live> {
        self.blocks.get(&index)
    }

    /// Returns true if a value that an instruction reads from a lane of a vector register, or writes to one, has to be followed. Such a
    /// value can reach this half of EXEC, or it can reach neither half and may reveal the past.
    pub(super) fn is_needed(&self, index: usize) -> bool {
        self.unneeded.binary_search(&index).is_err()
    }

    /// Removes from each half the values that can reach only the other half.
    pub(super) fn divide([low, high]: &mut [Liveness; 2]) {
        let others = high.unneeded.clone();
        high.unneeded.retain(|index| low.is_needed(*index));
        low.unneeded
            .retain(|index| others.binary_search(index).is_err());
    }

    /// Returns the result for a wave that has no other half.
    pub(super) fn alone(mut self) -> Liveness {
        self.unneeded.clear();
        self
    }

    /// Finds the live dwords of a function.
    ///
    /// * `half`: the dword of EXEC that counts, 0 or 1. Of masks, only the dwords that can reach it are live.
    /// * `fuel`: the budget of instructions and bytes. If it is exceeded, everything counts as live.
    pub(super) fn find(code: &Code, marks: &Marks, half: u8, fuel: &mut Fuel) -> Liveness {
        let finder = Finder::new(code, marks, half);
        let graph = code.graph();
        let blocks: Vec<Range<usize>> = graph.node_weights().cloned().collect();
        let words = finder.dwords.len().saturating_mul(blocks.len());
        if words > MOST_WORDS {
            return Liveness::default();
        }
        let bytes = (words as u64).saturating_mul(size_of::<u64>() as u64);
        if fuel.keep(bytes).is_none() {
            return Liveness::default();
        }
        let empty = Live {
            scalars: 0,
            lanes: vec![0; finder.dwords.len()].into(),
        };
        let mut live = vec![empty.clone(); blocks.len()];
        let mut work: Vec<usize> = (0..blocks.len()).collect();
        let mut is_waiting = vec![true; blocks.len()];
        while let Some(block) = work.pop() {
            let Some(instructions) = blocks.get(block) else {
                continue;
            };
            if let Some(waiting) = is_waiting.get_mut(block) {
                *waiting = false;
            }
            let after_it = graph.neighbors_directed(NodeIndex::new(block), Direction::Outgoing);
            let compared = after_it.count().saturating_add(1);
            if (fuel.compare(compared.saturating_mul(finder.dwords.len()))).is_none() {
                return Liveness::default();
            }
            let mut set = after(graph, block, &live, &empty);
            for index in instructions.clone().rev() {
                if fuel.count(1).is_none() {
                    return Liveness::default();
                }
                finder.before(index, &mut set);
            }
            let Some(known) = live.get_mut(block).filter(|known| **known != set) else {
                continue;
            };
            *known = set;
            for before in graph.neighbors_directed(NodeIndex::new(block), Direction::Incoming) {
                if let Some(waiting) = is_waiting.get_mut(before.index())
                    && !core::mem::replace(waiting, true)
                {
                    work.push(before.index());
                }
            }
        }
        let mut unneeded = Vec::new();
        for (block, instructions) in blocks.iter().enumerate() {
            if !instructions.clone().any(|index| finder.is_of_lane(index)) {
                continue;
            }
            let mut set = after(graph, block, &live, &empty);
            for index in instructions.clone().rev() {
                if finder.is_of_lane(index) && !finder.is_needed(index, &set) {
                    unneeded.push(index);
                }
                finder.before(index, &mut set);
            }
        }
        unneeded.sort_unstable();
        Liveness {
            dwords: finder.dwords,
            blocks: blocks.iter().map(|block| block.start).zip(live).collect(),
            unneeded,
        }
    }
}

/// Returns the live dwords after a block.
fn after(graph: &Graph, block: usize, live: &[Live], empty: &Live) -> Live {
    let mut set = empty.clone();
    for after in graph.neighbors_directed(NodeIndex::new(block), Direction::Outgoing) {
        if let Some(after) = live.get(after.index()) {
            set.add(after);
        }
    }
    set
}

impl Live {
    fn add(&mut self, other: &Live) {
        self.scalars |= other.scalars;
        for (here, there) in self.lanes.iter_mut().zip(&other.lanes) {
            *here |= there;
        }
    }

    /// Returns the live lanes of a dword.
    fn of(&self, dword: Option<usize>) -> u64 {
        let lanes = dword.and_then(|dword| self.lanes.get(dword));
        lanes.copied().unwrap_or(0)
    }

    fn add_lanes(&mut self, dword: Option<usize>, lanes: u64) {
        if let Some(live) = dword.and_then(|dword| self.lanes.get_mut(dword)) {
            *live |= lanes;
        }
    }

    fn remove_lanes(&mut self, dword: Option<usize>, lanes: u64) {
        if let Some(live) = dword.and_then(|dword| self.lanes.get_mut(dword)) {
            *live &= !lanes;
        }
    }
}

/// Finds the dwords that the instructions of a function need.
struct Finder<'c> {
    code: &'c Code,
    marks: &'c Marks,
    half: u8,
    dwords: Vec<Dword>,
    /// The scalar registers that each instruction writes.
    written: Vec<u128>,
}

impl Finder<'_> {
    fn new<'c>(code: &'c Code, marks: &'c Marks, half: u8) -> Finder<'c> {
        let mut dwords: Vec<Dword> = code.vectors_with_lanes().map(Dword::Register).collect();
        for (index, slot) in &marks.rows {
            let effect = code.instructions.get(*index).map(|one| one.effect);
            if let Some(Effect::Load(access)) = effect {
                let count = access.data.map_or(0, |span| span.count);
                dwords.extend((0..count).map(|n| Dword::Row(row(*slot, n))));
            }
        }
        dwords.sort_unstable();
        dwords.dedup();
        let written = code.instructions.iter().map(|instruction| {
            let spans = instruction.writes.spans().iter();
            let registers = spans.flat_map(|span| span.registers());
            registers.fold(0, |set, register| set | bit(register))
        });
        Finder {
            written: written.collect(),
            code,
            marks,
            half,
            dwords,
        }
    }

    fn register(&self, register: MachineRegister) -> Option<usize> {
        let dword = Dword::Register(register);
        self.dwords.binary_search(&dword).ok()
    }

    /// Returns true if an instruction reads or writes a lane of a vector register.
    fn is_of_lane(&self, index: usize) -> bool {
        let effect = self.code.instructions.get(index).map(|one| one.effect);
        matches!(
            effect,
            Some(Effect::ReadLane { .. } | Effect::WriteLane { .. })
        )
    }

    /// Returns true if the value that a read or write of a vector register's lane produces is live after it.
    fn is_needed(&self, index: usize, after: &Live) -> bool {
        match self.code.instructions.get(index).map(|one| one.effect) {
            Some(Effect::ReadLane { dst, .. }) => registers(dst) & with_stack(after.scalars) != 0,
            Some(Effect::WriteLane { dst, lane, .. }) => {
                after.of(self.register(dst)) & lanes(lane) != 0
            }
            _ => true,
        }
    }

    /// Updates the live dwords from after an instruction to before it.
    fn before(&self, index: usize, live: &mut Live) {
        let Some(instruction) = self.code.instructions.get(index) else {
            return;
        };
        let after = live.scalars;
        live.scalars &= !self.written.get(index).copied().unwrap_or(0);
        let all = || self.marks.writes_all.contains(&index);
        match instruction.effect {
            Effect::ReadLane { dst, src, lane } if registers(dst) & after != 0 => {
                let vector = src.register().and_then(|register| self.register(register));
                live.add_lanes(vector, lanes(lane));
            }
            Effect::WriteLane { dst, src, lane } => {
                let (vector, lanes) = (self.register(dst), lanes(lane));
                if live.of(vector) & lanes != 0 {
                    live.scalars |= registers(src);
                }
                if lanes.is_power_of_two() {
                    live.remove_lanes(vector, lanes);
                }
            }
            Effect::VectorMove { dst, src } => {
                let sources = src.registers().into_iter().flat_map(Span::registers);
                for (dst, src) in dst.registers().zip(sources) {
                    self.copied(live, [self.register(dst), self.register(src)], all());
                }
            }
            Effect::Load(access) | Effect::Store(access) => {
                if matches!(access.kind, AccessKind::Scratch | AccessKind::Buffer) {
                    live.scalars |= registers(access.base);
                }
                let Some(slot) = self.marks.rows.get(&index) else {
                    return;
                };
                let data = access.data.into_iter().flat_map(Span::registers);
                for (n, register) in (0..).zip(data) {
                    let row = Dword::Row(row(*slot, n));
                    let row = self.dwords.binary_search(&row).ok();
                    let register = self.register(register);
                    match instruction.effect {
                        Effect::Load(_) => self.copied(live, [register, row], all()),
                        _ => self.copied(live, [row, register], all()),
                    }
                }
            }
            _ => live.scalars |= self.reads(instruction, after),
        }
    }

    /// Handles a copy of a whole register or row, in all lanes or in some.
    fn copied(&self, live: &mut Live, [to, from]: [Option<usize>; 2], all: bool) {
        let lanes = live.of(to);
        if all {
            live.remove_lanes(to, lanes);
        }
        live.add_lanes(from, lanes);
    }

    /// Returns the scalar registers that an instruction reads to compute live values.
    fn reads(&self, instruction: &Instruction, after: u128) -> u128 {
        match instruction.effect {
            Effect::Scalar { dst, a, b, op } => {
                let wanted = with_stack(after);
                let count = dst.registers().map_or(0, |span| span.count);
                let dwords = (0..count).filter(|n| self.is_wanted(dst, *n, wanted));
                let kept = op == ScalarOp::MovIfScc;
                let is_bitwise = Bitwise::of(op).is_some()
                    || matches!(op, ScalarOp::Mov | ScalarOp::Not | ScalarOp::Select)
                    || kept;
                let of = |operand: Operand, n: u8| {
                    if is_bitwise {
                        dword(operand, n)
                    } else {
                        registers(operand)
                    }
                };
                dwords.fold(0, |set, n| {
                    set | of(a, n) | of(b, n) | if kept { dword(dst, n) } else { 0 }
                })
            }
            Effect::SaveExec { src, .. } | Effect::WriteExec { src, .. } => dword(src, self.half),
            _ => 0,
        }
    }

    /// Returns true if a dword of a destination belongs to EXEC or to a set of registers.
    fn is_wanted(&self, dst: Operand, n: u8, wanted: u128) -> bool {
        match dst.registers().and_then(|span| span.first.plus(n)) {
            Some(MachineRegister::ExecLo) => self.half == 0,
            Some(MachineRegister::ExecHi) => self.half == 1,
            Some(register) => bit(register) & wanted != 0,
            None => false,
        }
    }
}

/// Returns row `n` of an access, counted from its first row.
fn row(first: Slot, n: u8) -> Slot {
    let offset = first.offset.saturating_add(i64::from(n).saturating_mul(4));
    Slot { offset, ..first }
}

/// Adds the registers that stack addresses are relative to.
fn with_stack(set: u128) -> u128 {
    let stack = STACK_REGISTERS.into_iter();
    stack.fold(set, |set, register| set | bit(register))
}

/// Returns the lanes that an operand can name.
fn lanes(lane: Operand) -> u64 {
    let lane = lane.constant().and_then(|lane| u32::try_from(lane).ok());
    lane.map_or(u64::MAX, |lane| 1_u64.checked_shl(lane & 63).unwrap_or(0))
}

fn registers(operand: Operand) -> u128 {
    let spans = operand.registers().into_iter();
    (spans.flat_map(Span::registers)).fold(0, |set, register| set | bit(register))
}

/// Returns the register that holds dword `n` of an operand.
fn dword(operand: Operand, n: u8) -> u128 {
    match operand.registers() {
        Some(span) if n < span.count => span.first.plus(n).map_or(0, bit),
        _ => 0,
    }
}
