//! The machine code of one function: its instructions, its control-flow graph, and the edges after each instruction.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "of most instructions only the registers that they write matter"
)]

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use petgraph::Direction;
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::DfsPostOrder;

use crate::abi::{Callees, Convention, call_targets};
use crate::arch::Family;
use crate::error::{Error, Result};
use crate::isa::{Condition, Decoder, Effect, Instruction, MachineRegister, Operand, Span};

/// The most instructions that a function may have.
const MOST_INSTRUCTIONS: usize = 1 << 20;

/// An edge of control flow after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// To another instruction of the function, by its index.
    To(usize),
    /// Out of the function: to its caller, or to another function that returns there.
    Leaves,
    /// Nowhere: the wave ends.
    Ends,
    /// To an unknown place.
    Lost,
}

/// The control-flow graph. A node is a block, given by the indices of its instructions; blocks are in the order of the code.
pub(crate) type Graph = DiGraph<Range<usize>, ()>;

/// The facts about one instruction that are used most.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// See [`goes_on`](Code::goes_on).
    goes_on: bool,
    /// See [`is_leader`](Code::is_leader).
    is_leader: bool,
    /// See [`is_block_start`](Code::is_block_start).
    is_block_start: bool,
}

/// An instruction with an edge other than to the next one.
#[derive(Clone, Copy, Debug)]
struct Jump {
    index: usize,
    edges: [Option<Edge>; 2],
}

/// One function.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) convention: Convention,
    pub(crate) family: Family,
    flows: Vec<Flow>,
    /// The instructions with other edges, sorted.
    jumps: Vec<Jump>,
    /// The calls with known targets, by index.
    callees: Vec<(usize, u64)>,
    /// The first instructions of blocks, sorted.
    starts: Vec<usize>,
    graph: OnceLock<Graph>,
    /// See [`order`](Code::order).
    order: OnceLock<Vec<usize>>,
    /// The number of each block's strongly connected component.
    components: OnceLock<Vec<usize>>,
    /// The vector registers whose lanes hold scalar values.
    lane_vectors: OnceLock<BTreeSet<MachineRegister>>,
}

impl Code {
    /// The most bytes that are kept for each instruction in addition to itself.
    pub(crate) const GRAPH_BYTES: usize = 128;

    /// Decodes a function that starts at an address.
    ///
    /// # Errors
    /// If the code is not made of instructions of the processor, or is too long.
    pub(crate) fn new(
        decoder: &Decoder,
        callees: &Callees<'_>,
        start: u64,
        code: &[u8],
    ) -> Result<Code> {
        if code.len() / 4 > MOST_INSTRUCTIONS {
            return Err(Error::malformed(
                "function",
                format!("it has more than {MOST_INSTRUCTIONS} instructions"),
            ));
        }
        let instructions = decoder.decode_all(code, start)?;
        Ok(Code::of(instructions, callees, decoder.family()))
    }

    /// Creates a function from decoded instructions.
    pub(crate) fn of(
        instructions: Vec<Instruction>,
        callees: &Callees<'_>,
        family: Family,
    ) -> Code {
        let calls = call_targets(&instructions);
        let (flows, jumps) = flows_of(&instructions, callees, &calls);
        let starts = flows.iter().enumerate();
        let starts = starts.filter_map(|(n, flow)| flow.is_block_start.then_some(n));
        Code {
            convention: convention_of(&instructions),
            family,
            starts: starts.collect(),
            flows,
            jumps,
            callees: calls,
            graph: OnceLock::new(),
            order: OnceLock::new(),
            components: OnceLock::new(),
            lane_vectors: OnceLock::new(),
            instructions,
        }
    }

    /// Splits the function into blocks at jumps and their targets.
    fn find_graph(&self) -> Graph {
        let starts = &self.starts;
        let ends = starts.iter().skip(1).copied().chain([self.flows.len()]);
        let mut graph = Graph::new();
        for (start, end) in starts.iter().zip(ends.clone()) {
            graph.add_node(*start..end);
        }
        for (block, end) in graph.node_indices().zip(ends) {
            // The graph returns neighbours in reverse order.
            let last = end.checked_sub(1).map(|last| self.both_edges(last));
            for edge in last.into_iter().flatten().rev().flatten() {
                if let Edge::To(to) = edge
                    && let Some(to) = self.block_at(to)
                {
                    graph.add_edge(block, to, ());
                }
            }
        }
        graph
    }

    /// Returns true if the function and its callees preserve a register.
    pub(crate) fn preserves(&self, register: MachineRegister) -> bool {
        self.convention.preserves(register, self.family)
    }

    /// Returns the index of the instruction at an address.
    pub(crate) fn index_of(&self, address: u64) -> Option<usize> {
        let found = self
            .instructions
            .binary_search_by_key(&address, |one| one.address);
        found.ok()
    }

    /// Returns true if an address is in the function.
    pub(crate) fn has(&self, address: u64) -> bool {
        let ends = (self.instructions.first(), self.instructions.last());
        let (Some(first), Some(last)) = ends else {
            return false;
        };
        (first.address..last.end()).contains(&address)
    }

    /// Returns the edges after an instruction.
    pub(crate) fn edges(&self, index: usize) -> impl Iterator<Item = Edge> {
        self.both_edges(index).into_iter().flatten()
    }

    fn both_edges(&self, index: usize) -> [Option<Edge>; 2] {
        if self.goes_on(index) {
            return [index.checked_add(1).map(Edge::To), None];
        }
        let jump = self.jumps.binary_search_by_key(&index, |jump| jump.index);
        let jump = jump.ok().and_then(|jump| self.jumps.get(jump));
        jump.map_or([None; 2], |jump| jump.edges)
    }

    /// Returns the instructions with an edge other than to the next one, except for calls.
    pub(crate) fn jumps(&self) -> impl Iterator<Item = &Instruction> + Clone {
        let jumps = self.jumps.iter();
        jumps.filter_map(|jump| self.instructions.get(jump.index))
    }

    fn flow(&self, index: usize) -> Flow {
        self.flows.get(index).copied().unwrap_or_default()
    }

    /// Returns true if the only edge is to the next instruction.
    pub(crate) fn goes_on(&self, index: usize) -> bool {
        self.flow(index).goes_on
    }

    /// Returns true if there is an edge to the next instruction.
    pub(crate) fn falls_through(&self, index: usize) -> bool {
        let next = index.checked_add(1).map(Edge::To);
        self.edges(index).any(|edge| Some(edge) == next)
    }

    /// Returns true if an instruction is the return address of a call.
    pub(crate) fn is_after_call(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|n| self.instructions.get(n));
        before.is_some_and(|one| matches!(one.effect, Effect::Call { .. }))
    }

    /// Returns true if a call ends at an address, which may be the end of the code.
    pub(crate) fn has_call_before(&self, address: u64) -> bool {
        let after = (self.instructions).partition_point(|one| one.address < address);
        let before = after.checked_sub(1).and_then(|n| self.instructions.get(n));
        before.is_some_and(|one| one.end() == address && matches!(one.effect, Effect::Call { .. }))
    }

    /// Returns the control-flow graph.
    pub(crate) fn graph(&self) -> &Graph {
        self.graph.get_or_init(|| self.find_graph())
    }

    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.starts.len()
    }

    /// Returns the block that begins with an instruction, if one does.
    pub(crate) fn block_at(&self, index: usize) -> Option<NodeIndex> {
        self.starts.binary_search(&index).ok().map(NodeIndex::new)
    }

    /// Returns the predecessors of an instruction.
    pub(crate) fn before(&self, index: usize) -> impl Iterator<Item = usize> {
        let block = self.block_at(index);
        let graph = self.graph();
        let last = |block: NodeIndex| graph.node_weight(block)?.end.checked_sub(1);
        let earlier = block.into_iter().flat_map(move |block| {
            let before = graph.neighbors_directed(block, Direction::Incoming);
            before.filter_map(last)
        });
        let within = index.checked_sub(1).filter(|_| block.is_none());
        earlier.chain(within)
    }

    /// Returns a predicate for registers that a call preserves, by the convention or because the callee does not write them.
    ///
    /// * `callee`: the target of the call, if it is known.
    pub(crate) fn call_keeps(
        &self,
        callees: &Callees<'_>,
        callee: Option<u64>,
    ) -> impl Fn(MachineRegister) -> bool {
        let writes = callee.and_then(|callee| callees.writes(callee));
        move |register| {
            self.preserves(register) || writes.is_some_and(|writes| !writes.contains(register))
        }
    }

    /// Returns the address of a call's target, if it is known.
    pub(crate) fn callee(&self, index: usize) -> Option<u64> {
        target_of(&self.callees, index)
    }

    /// Returns true if an instruction is a leader: it has a predecessor other than the previous instruction.
    pub(crate) fn is_leader(&self, index: usize) -> bool {
        self.flow(index).is_leader
    }

    /// Returns true if a block begins with an instruction.
    pub(crate) fn is_block_start(&self, index: usize) -> bool {
        self.flow(index).is_block_start
    }

    /// Returns the index after the last instruction of the block that contains `index`.
    pub(crate) fn block_end(&self, index: usize) -> usize {
        let next = self.starts.partition_point(|start| *start <= index);
        self.starts.get(next).copied().unwrap_or(self.flows.len())
    }

    /// Returns the position of a leader in reverse postorder, in which predecessors come first, except in loops. Following states in this
    /// order takes the fewest rounds. Compilers do not emit code in this order.
    pub(crate) fn order(&self, index: usize) -> usize {
        let find = || order_of(self.graph(), self.instructions.len());
        let order = self.order.get_or_init(find);
        order.get(index).copied().unwrap_or(0)
    }

    /// Returns true if control can reach each of two instructions from the other.
    pub(crate) fn reach_each_other(&self, one: usize, other: usize) -> bool {
        let components = self.components.get_or_init(|| components(self.graph()));
        let component = |index: usize| {
            let block = self.starts.partition_point(|start| *start <= index);
            components.get(block.checked_sub(1)?).copied()
        };
        component(one).is_some_and(|found| component(other) == Some(found))
    }

    /// Returns the vector registers whose lanes hold scalar values.
    pub(crate) fn vectors_with_lanes(&self) -> impl Iterator<Item = MachineRegister> {
        let find = || lane_vectors(&self.instructions);
        self.lane_vectors.get_or_init(find).iter().copied()
    }

    /// Returns true if scalar values are written to lanes of a vector register, or read from them.
    pub(crate) fn has_lanes(&self, register: MachineRegister) -> bool {
        let find = || lane_vectors(&self.instructions);
        self.lane_vectors.get_or_init(find).contains(&register)
    }
}

/// Detects the calling convention. GCC's functions keep the return address in `s[18:19]`.
fn convention_of(instructions: &[Instruction]) -> Convention {
    let link = |operand: Operand| operand.registers().map(|span| span.first);
    let gcc = Some(MachineRegister::Sgpr(Convention::Gcc.return_address()));
    let is_gcc = instructions.iter().any(|one| match one.effect {
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

/// The registers that stack addresses are relative to: the frame pointer and the stack pointer of called functions, and the base pointer of
/// aligned frames.
pub(crate) const STACK_REGISTERS: [MachineRegister; 3] = [
    MachineRegister::Sgpr(33),
    MachineRegister::Sgpr(32),
    MachineRegister::Sgpr(34),
];

/// Returns the facts about each instruction, and the jumps.
///
/// * `calls`: see [`call_targets`].
fn flows_of(
    instructions: &[Instruction],
    callees: &Callees<'_>,
    calls: &[(usize, u64)],
) -> (Vec<Flow>, Vec<Jump>) {
    let mut flows = vec![Flow::default(); instructions.len()];
    let mut jumps = Vec::new();
    for (index, (flow, instruction)) in flows.iter_mut().zip(instructions).enumerate() {
        let target = || target_of(calls, index);
        match edges_of(instructions, callees, index, instruction, target) {
            Some(edges) => jumps.push(Jump { index, edges }),
            None => flow.goes_on = true,
        }
    }
    // The code after the last instruction is unknown.
    if let Some((last, flow)) = flows.iter_mut().enumerate().next_back() {
        if core::mem::take(&mut flow.goes_on) {
            let edges = [Some(Edge::Lost), None];
            jumps.push(Jump { index: last, edges });
        }
        let beyond = Some(Edge::To(instructions.len()));
        let edges = jumps.last_mut().map(|jump| &mut jump.edges);
        for edge in edges.into_iter().flatten().filter(|edge| **edge == beyond) {
            *edge = Some(Edge::Lost);
        }
    }
    mark_starts(instructions, &jumps, &mut flows);
    (flows, jumps)
}

/// Returns the target of a call or an indirect jump, if it is known.
fn target_of(calls: &[(usize, u64)], index: usize) -> Option<u64> {
    let found = calls.binary_search_by_key(&index, |(call, _)| *call);
    let (_, target) = calls.get(found.ok()?)?;
    Some(*target)
}

/// Returns the edges after an instruction; `None` if the only one is to the next instruction.
///
/// * `target`: returns the target of an indirect jump, if it is known.
fn edges_of(
    instructions: &[Instruction],
    callees: &Callees<'_>,
    index: usize,
    instruction: &Instruction,
    target: impl FnOnce() -> Option<u64>,
) -> Option<[Option<Edge>; 2]> {
    let to = |address: u64| {
        match instructions.binary_search_by_key(&address, |one| one.address) {
            // A function that continues within itself is not left.
            Ok(to) => Edge::To(to),
            Err(_) if callees.has(address) => Edge::Leaves,
            Err(_) => Edge::Lost,
        }
    };
    Some(match instruction.effect {
        Effect::Branch {
            condition: Some(Condition::Loop),
            ..
        }
        | Effect::OtherJump
        | Effect::CodeEnd => [Some(Edge::Lost), None],
        Effect::Branch { target, condition } => {
            let next = Edge::To(index + 1);
            [Some(to(target)), condition.is_some().then_some(next)]
        }
        Effect::EndProgram => [Some(Edge::Ends), None],
        Effect::SetPc { src } => {
            let first = src.registers().map(|span| span.first);
            let links = [Convention::Llvm, Convention::Gcc].map(Convention::return_address);
            let is_return = links.map(|n| Some(MachineRegister::Sgpr(n)));
            match target() {
                Some(address) => [Some(to(address)), None],
                None if is_return.contains(&first) => [Some(Edge::Leaves), None],
                None => [Some(Edge::Lost), None],
            }
        }
        _ => return None,
    })
}

/// Marks leaders and starts of blocks. Leaders are the targets of jumps, and the instructions after one without an edge to the next.
/// Instructions after one with several edges start blocks, too.
fn mark_starts(instructions: &[Instruction], jumps: &[Jump], flows: &mut [Flow]) {
    let mut mark = |index: usize, is_leader: bool| {
        if let Some(flow) = flows.get_mut(index) {
            flow.is_leader |= is_leader;
            flow.is_block_start = true;
        }
    };
    mark(0, false);
    for jump in jumps {
        let next = jump.index + 1;
        let mut goes_on = false;
        for edge in jump.edges.iter().flatten() {
            match edge {
                Edge::To(target) if *target == next => goes_on = true,
                Edge::To(target) => mark(*target, true),
                Edge::Leaves | Edge::Ends | Edge::Lost => {}
            }
        }
        let [_, other] = jump.edges;
        if !goes_on || other.is_some() {
            mark(next, !goes_on);
        }
        // In a loop over parts of the wave, the executing lanes are unknown, but some execute.
        let effect = instructions.get(jump.index).map(|one| one.effect);
        if let Some(Effect::Branch { target, .. }) = effect
            && jump.edges.contains(&Some(Edge::Lost))
            && let Ok(target) = instructions.binary_search_by_key(&target, |one| one.address)
        {
            mark(target, true);
        }
    }
}

/// Returns, for the first instruction of each block, its position in reverse postorder. The next block comes before the branch target.
fn components(graph: &Graph) -> Vec<usize> {
    let mut numbers = vec![0; graph.node_count()];
    for (number, component) in kosaraju_scc(graph).into_iter().enumerate() {
        for block in component {
            if let Some(place) = numbers.get_mut(block.index()) {
                *place = number;
            }
        }
    }
    numbers
}

fn order_of(graph: &Graph, count: usize) -> Vec<usize> {
    let mut order = vec![0; count];
    if graph.node_count() == 0 {
        return order;
    }
    let mut blocks = DfsPostOrder::new(graph, NodeIndex::new(0));
    let mut last = count;
    while let Some(block) = blocks.next(graph) {
        let start = graph.node_weight(block).map_or(0, |block| block.start);
        if let Some(place) = order.get_mut(start) {
            *place = last;
        }
        last = last.saturating_sub(1);
    }
    order
}

/// Returns the vector registers whose lanes hold scalar values, and the registers that they are copied to and from.
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
