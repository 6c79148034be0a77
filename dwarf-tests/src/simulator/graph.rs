//! Builds a control-flow graph from linear code, with the effects of instructions on masks. It uses only the instructions, and not the
//! program that they were generated from.

use core::ops::Range;

use hetdwarf::arch::WaveSize;
use hetdwarf::lane_pc::graph::{Block, Change, Event};
use hetdwarf::lane_pc::{Label, MaskPlace};
use petgraph::graph::{DiGraph, NodeIndex};

use super::back_end::Compiled;
use super::machine::{BASE, Half, Instruction, SIZE, Scalar};
use super::masks::{TEMPORARY, labels};

/// The contents of a temporary register.
#[derive(Clone, Debug)]
enum Held {
    /// A mask, or the part of it that remains.
    Mask(MaskPlace),
    /// The active lanes for which a condition is false.
    Others,
    /// A changed mask that will be written back.
    Changed(Change),
}

struct Reader<'c> {
    compiled: &'c Compiled,
    held: [Option<Held>; 2],
}

/// Returns the graph of a function.
#[must_use]
pub fn graph(compiled: &Compiled) -> DiGraph<Block, ()> {
    let end = compiled.end + SIZE;
    let mut starts: Vec<u64> = compiled.labels.clone();
    starts.push(0);
    for (number, instruction) in compiled.instructions.iter().enumerate() {
        if is_jump(*instruction) {
            starts.push(SIZE * (u64::try_from(number).unwrap() + 1));
        }
    }
    starts.retain(|start| *start < end);
    starts.sort_unstable();
    starts.dedup();
    let mut graph = DiGraph::new();
    let ends = starts.iter().skip(1).copied().chain([end]);
    for (start, end) in starts.iter().copied().zip(ends) {
        let mut reader = Reader {
            compiled,
            held: [None, None],
        };
        graph.add_node(Block {
            name: format!("{start:#x}"),
            code: labels(start..end),
            events: reader.events(start..end),
        });
    }
    let block = |address: u64| NodeIndex::new(starts.binary_search(&address).unwrap());
    for (number, start) in starts.iter().enumerate() {
        let next = starts.get(number + 1).copied();
        let last = usize::try_from(next.unwrap_or(end) / SIZE).unwrap() - 1;
        let (target, goes_on) = match compiled.instructions[last] {
            Instruction::Jump(label) => (Some(label), false),
            Instruction::JumpIfAny(label) | Instruction::JumpIfNone(label) => (Some(label), true),
            Instruction::End => (None, false),
            _ => (None, true),
        };
        if let Some(label) = target {
            graph.add_edge(block(*start), block(compiled.labels[label]), ());
        }
        if let (Some(next), true) = (next, goes_on) {
            graph.add_edge(block(*start), block(next), ());
        }
    }
    graph
}

fn is_jump(instruction: Instruction) -> bool {
    matches!(
        instruction,
        Instruction::Jump(_) | Instruction::JumpIfAny(_) | Instruction::JumpIfNone(_)
    )
}

impl Reader<'_> {
    fn events(&mut self, code: Range<u64>) -> Vec<Event> {
        let mut events = Vec::new();
        for address in code.step_by(usize::try_from(SIZE).unwrap()) {
            if let Some((at, mask)) = self.compiled.known
                && at == address
            {
                let to = MaskPlace::Constant(mask);
                events.push(Event {
                    code: Label::Offset(at)..at.into(),
                    change: Change::Save { to },
                });
            }
            let instruction = self.compiled.instructions[usize::try_from(address / SIZE).unwrap()];
            if let Some(change) = self.change(instruction) {
                let code = labels(address..address + SIZE);
                events.push(Event { code, change });
            }
        }
        events
    }

    fn change(&mut self, instruction: Instruction) -> Option<Change> {
        match instruction {
            Instruction::Copy(Scalar::Exec, Scalar::Number(0)) => Some(Change::Leave),
            Instruction::Copy(Scalar::Exec, from) => Some(Change::Restore {
                from: self.mask(from),
            }),
            Instruction::Copy(Scalar::Register(to), from) => {
                self.write(MaskPlace::Scalar(to), from)
            }
            Instruction::And(Scalar::Exec, Scalar::Exec, Scalar::Vcc) => Some(Change::And),
            Instruction::AndNot(Scalar::Exec, from, Scalar::Exec) => Some(Change::Flip {
                from: self.mask(from),
            }),
            Instruction::AndNot(to, Scalar::Exec, Scalar::Vcc) => self.hold(to, Held::Others),
            Instruction::AndNot(to, from, Scalar::Exec) if to == from => {
                let mask = self.mask(from);
                self.changed(to, Change::AndNot { mask })
            }
            Instruction::Or(to, from, Scalar::Exec) if to == from => {
                let mask = self.mask(from);
                self.changed(to, Change::Or { mask })
            }
            Instruction::AndNot(to, from, gone) => {
                let left = self.mask(from).without(self.mask(gone));
                self.hold(to, Held::Mask(left))
            }
            Instruction::WriteLane(vgpr, lane, from, half) if half == self.last() => {
                let lane = lane - u8::from(half == Half::High);
                self.write(MaskPlace::VectorLane { vgpr, lane }, from)
            }
            Instruction::ReadLane(to, half, vgpr, lane) if half == self.last() => {
                let lane = lane - u8::from(half == Half::High);
                self.hold(to, Held::Mask(MaskPlace::VectorLane { vgpr, lane }))
            }
            Instruction::Store(offset, from, half) if half == self.last() => {
                self.write(scratch(offset, half), from)
            }
            Instruction::Load(to, half, offset) if half == self.last() => {
                self.hold(to, Held::Mask(scratch(offset, half)))
            }
            Instruction::Everyone | Instruction::Quads => Some(Change::WholeWave),
            // The first of two halves, and instructions without effect on masks.
            Instruction::WriteLane(..)
            | Instruction::ReadLane(..)
            | Instruction::Store(..)
            | Instruction::Load(..)
            | Instruction::Work
            | Instruction::Compare(_)
            | Instruction::Start(_)
            | Instruction::Again(_)
            | Instruction::Jump(_)
            | Instruction::JumpIfAny(_)
            | Instruction::JumpIfNone(_)
            | Instruction::End => None,
            other => panic!("the back end does not make {other:?}"),
        }
    }

    /// Returns the half that is moved last.
    fn last(&self) -> Half {
        match self.compiled.function.wave_size {
            WaveSize::Wave32 => Half::Low,
            WaveSize::Wave64 => Half::High,
        }
    }

    fn held_in(&self, scalar: Scalar) -> Option<&Held> {
        let number = TEMPORARY.iter().position(|one| *one == scalar)?;
        Some(
            self.held[number]
                .as_ref()
                .expect("a temporary is read after it is written"),
        )
    }

    fn hold(&mut self, to: Scalar, held: Held) -> Option<Change> {
        let number = TEMPORARY.iter().position(|one| *one == to);
        self.held[number.expect("a temporary")] = Some(held);
        None
    }

    /// Returns the mask that an instruction reads.
    fn mask(&self, scalar: Scalar) -> MaskPlace {
        match (self.held_in(scalar), scalar) {
            (Some(Held::Mask(place)), _) => place.clone(),
            (None, Scalar::Register(number)) => MaskPlace::Scalar(number),
            (None, Scalar::Number(mask)) => MaskPlace::Constant(mask),
            (held, _) => panic!("{scalar:?} is no mask but {held:?}"),
        }
    }

    /// Records that a mask was changed in its storage, or will be when it is written back.
    fn changed(&mut self, to: Scalar, change: Change) -> Option<Change> {
        if TEMPORARY.contains(&to) {
            return self.hold(to, Held::Changed(change));
        }
        Some(change)
    }

    /// Returns the change of a mask when its storage is written.
    fn write(&self, to: MaskPlace, from: Scalar) -> Option<Change> {
        Some(match (from, self.held_in(from)) {
            (Scalar::Exec, _) => Change::Save { to },
            (Scalar::Number(0), _) => Change::Clear { to },
            (Scalar::Number(_), _) => Change::Clobber { place: to },
            (_, Some(Held::Others)) => Change::SaveOthers { to },
            (_, Some(Held::Changed(change))) => change.clone(),
            (_, _) => Change::Move {
                from: self.mask(from),
                to,
            },
        })
    }
}

fn scratch(offset: u64, half: Half) -> MaskPlace {
    MaskPlace::Scratch {
        base: BASE,
        offset: offset - if half == Half::High { 4 } else { 0 },
    }
}
