//! The machine code of one function: its instructions, and where control goes after each.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "of most instructions only the registers that they write matter"
)]

use std::collections::{BTreeMap, BTreeSet};

use crate::abi::{Callees, Convention, call_targets};
use crate::arch::Family;
use crate::error::{Error, Result};
use crate::isa::{Condition, Decoder, Effect, Instruction, MachineRegister, Operand, Span};

/// How many instructions a function may have.
const MOST_INSTRUCTIONS: usize = 1 << 20;

/// Where control can go after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// To another instruction of the function, by its number.
    To(usize),
    /// Out of the function: to its caller, or to another one that returns there.
    Leaves,
    /// Nowhere: the wave ends.
    Ends,
    /// To a place that is not known.
    Lost,
}

/// One function.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) instructions: Vec<Instruction>,
    /// Where control goes after each.
    edges: Vec<[Option<Edge>; 2]>,
    /// Where a call goes, if that is known.
    callees: Vec<Option<u64>>,
    /// Whether branches go to it.
    is_leader: Vec<bool>,
    /// For each to which branches go, its place in an order in which control comes to it: see [`order`](Code::order).
    order: Vec<usize>,
    /// The vector registers in whose lanes scalar values are.
    lane_vectors: BTreeSet<MachineRegister>,
    pub(super) convention: Convention,
    family: Family,
}

impl Code {
    /// Decodes a function.
    ///
    /// # Errors
    /// If the code is not made of instructions of the processor, or is too long.
    pub(super) fn new(
        decoder: &Decoder,
        callees: &Callees<'_>,
        (start, code): (u64, &[u8]),
    ) -> Result<Code> {
        if code.len() / 4 > MOST_INSTRUCTIONS {
            return Err(Error::malformed(
                "function",
                format!("it has more than {MOST_INSTRUCTIONS} instructions"),
            ));
        }
        let instructions = decoder.decode_all(code, start)?;
        let calls = call_targets(&instructions);
        let targets: Vec<Option<u64>> = (instructions.iter())
            .map(|one| calls.get(&one.address).copied())
            .collect();
        let edges = (0..instructions.len()).zip(&targets);
        let mut edges: Vec<[Option<Edge>; 2]> = edges
            .map(|(n, target)| edges_of(&instructions, callees, n, *target))
            .collect();
        // What runs out of the function at its end goes into something that is not known.
        if let Some(last) = edges.last_mut() {
            let beyond = Some(Edge::To(instructions.len()));
            for edge in last.iter_mut().filter(|edge| **edge == beyond) {
                *edge = Some(Edge::Lost);
            }
        }
        let mut is_leader = vec![false; instructions.len()];
        for (n, edges) in edges.iter().enumerate() {
            for edge in edges.iter().flatten() {
                if let Edge::To(target) = edge
                    && Some(*target) != n.checked_add(1)
                    && let Some(leader) = is_leader.get_mut(*target)
                {
                    *leader = true;
                }
            }
        }
        let lane_vectors = lane_vectors(&instructions);
        let mut code = Code {
            instructions,
            edges,
            callees: targets,
            is_leader,
            order: Vec::new(),
            lane_vectors,
            convention: Convention::Llvm,
            family: decoder.family(),
        };
        code.order = code.find_order();
        code.convention = code.find_convention();
        Ok(code)
    }

    /// Whether the function, and those that it calls, give a register back.
    pub(super) fn preserves(&self, register: MachineRegister) -> bool {
        self.convention.preserves(register, self.family)
    }

    /// The number of the instruction at an address.
    pub(super) fn index_of(&self, address: u64) -> Option<usize> {
        let found = self
            .instructions
            .binary_search_by_key(&address, |one| one.address);
        found.ok()
    }

    /// Where control can go after an instruction.
    pub(super) fn edges(&self, index: usize) -> impl Iterator<Item = Edge> {
        let edges = self.edges.get(index).copied().unwrap_or_default();
        edges.into_iter().flatten()
    }

    /// Whether control goes on to the next instruction, and nowhere else.
    pub(super) fn goes_on(&self, index: usize) -> bool {
        let mut edges = self.edges(index);
        let next = index.checked_add(1).map(Edge::To);
        edges.next() == next && edges.next().is_none()
    }

    /// Whether an instruction is where a call returns to.
    pub(super) fn is_after_call(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|n| self.instructions.get(n));
        before.is_some_and(|one| matches!(one.effect, Effect::Call { .. }))
    }

    /// The first instruction of the function that a call goes to, if that is known.
    pub(super) fn callee(&self, index: usize) -> Option<u64> {
        self.callees.get(index).copied().flatten()
    }

    /// Whether branches go to an instruction.
    pub(super) fn is_leader(&self, index: usize) -> bool {
        self.is_leader.get(index).copied().unwrap_or(false)
    }

    /// The place of an instruction to which branches go in an order in which those come first from which control comes, but for
    /// loops (reverse postorder). To follow states in it takes the fewest rounds; compilers do not lay code out so.
    pub(super) fn order(&self, index: usize) -> usize {
        self.order.get(index).copied().unwrap_or(0)
    }

    fn find_order(&self) -> Vec<usize> {
        let mut order = vec![0; self.instructions.len()];
        let mut is_seen: Vec<bool> = (0..self.instructions.len()).map(|n| n == 0).collect();
        let mut last = self.instructions.len();
        let mut open: Vec<(usize, Vec<usize>)> = vec![(0, self.leaders_after(0))];
        while let Some((index, after)) = open.last_mut() {
            let Some(next) = after.pop() else {
                if let Some(place) = order.get_mut(*index) {
                    *place = last;
                }
                last = last.saturating_sub(1);
                open.pop();
                continue;
            };
            if let Some(seen) = is_seen.get_mut(next).filter(|seen| !**seen) {
                *seen = true;
                open.push((next, self.leaders_after(next)));
            }
        }
        order
    }

    /// Where control goes from an instruction on, up to the next to which branches go.
    fn leaders_after(&self, mut index: usize) -> Vec<usize> {
        let mut leaders = Vec::new();
        loop {
            let mut next = None;
            for edge in self.edges(index) {
                match edge {
                    Edge::To(to) if self.is_leader(to) => leaders.push(to),
                    Edge::To(to) => next = Some(to),
                    Edge::Leaves | Edge::Ends | Edge::Lost => {}
                }
            }
            match next {
                Some(next) => index = next,
                None => return leaders,
            }
        }
    }

    /// The vector registers in whose lanes scalar values are put.
    pub(super) fn vectors_with_lanes(&self) -> impl Iterator<Item = MachineRegister> {
        self.lane_vectors.iter().copied()
    }

    /// Whether scalar values are put into lanes of a vector register, or read from there.
    pub(super) fn has_lanes(&self, register: MachineRegister) -> bool {
        self.lane_vectors.contains(&register)
    }

    /// GCC's functions keep the return address in `s[18:19]`.
    fn find_convention(&self) -> Convention {
        let link = |operand: Operand| operand.registers().map(|span| span.first);
        let gcc = Some(MachineRegister::Sgpr(Convention::Gcc.return_address()));
        let is_gcc = self.instructions.iter().any(|one| match one.effect {
            Effect::Call { dst, .. } => link(dst) == gcc,
            Effect::SetPc { src } => link(src) == gcc,
            _ => false,
        });
        if is_gcc {
            Convention::Gcc
        } else {
            Convention::Llvm
        }
    }
}

/// The registers that addresses on the stack are counted from, those of called functions first: the frame
/// pointer, the stack pointer, and the base pointer of frames that are aligned.
pub(super) const STACK_REGISTERS: [MachineRegister; 3] = [
    MachineRegister::Sgpr(33),
    MachineRegister::Sgpr(32),
    MachineRegister::Sgpr(34),
];

/// Where control can go after an instruction.
///
/// * `target`: where an indirect jump goes, if that is known.
fn edges_of(
    instructions: &[Instruction],
    callees: &Callees<'_>,
    n: usize,
    target: Option<u64>,
) -> [Option<Edge>; 2] {
    let Some(instruction) = instructions.get(n) else {
        return [None; 2];
    };
    let next = Edge::To(n.saturating_add(1));
    let to = |address: u64| {
        match instructions.binary_search_by_key(&address, |one| one.address) {
            // A function that goes on as itself does not leave.
            Ok(to) => Edge::To(to),
            Err(_) if callees.has(address) => Edge::Leaves,
            Err(_) => Edge::Lost,
        }
    };
    match instruction.effect {
        Effect::Branch {
            condition: Some(Condition::Loop),
            ..
        }
        | Effect::OtherJump
        | Effect::CodeEnd => [Some(Edge::Lost), None],
        Effect::Branch { target, condition } => {
            [Some(to(target)), condition.is_some().then_some(next)]
        }
        Effect::EndProgram => [Some(Edge::Ends), None],
        Effect::SetPc { src } => {
            let first = src.registers().map(|span| span.first);
            let links = [Convention::Llvm, Convention::Gcc].map(Convention::return_address);
            let is_return = links.map(|n| Some(MachineRegister::Sgpr(n)));
            match target {
                Some(address) => [Some(to(address)), None],
                None if is_return.contains(&first) => [Some(Edge::Leaves), None],
                None => [Some(Edge::Lost), None],
            }
        }
        _ => [Some(next), None],
    }
}

/// The vector registers whose lanes hold scalar values, and those that they are copied to and from.
fn lane_vectors(instructions: &[Instruction]) -> BTreeSet<MachineRegister> {
    let mut found = BTreeSet::new();
    let mut copies: BTreeMap<MachineRegister, BTreeSet<MachineRegister>> = BTreeMap::new();
    for instruction in instructions {
        match instruction.effect {
            Effect::WriteLane { dst, .. } => {
                found.insert(dst);
            }
            Effect::ReadLane { src, .. } => found.extend(src.register()),
            Effect::VectorMove { dst, src } => {
                let sources = src.registers().into_iter().flat_map(Span::registers);
                for (dst, src) in dst.registers().zip(sources) {
                    copies.entry(dst).or_default().insert(src);
                    copies.entry(src).or_default().insert(dst);
                }
            }
            _ => {}
        }
    }
    let mut work: Vec<MachineRegister> = found.iter().copied().collect();
    while let Some(register) = work.pop() {
        let others = copies.get(&register).into_iter().flatten();
        work.extend(others.filter(|one| found.insert(**one)));
    }
    found
}
