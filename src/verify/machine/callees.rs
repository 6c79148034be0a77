//! Which registers the functions of an object can write, with all that they call.
//!
//! Compilers that see a callee's code keep values in registers that the calling convention gives away, if
//! the callee does not write them. Without knowing what callees write, nothing could be said behind a
//! call in such code. What is found here is never too little: where a call cannot be followed, everything
//! that the convention gives away counts as written.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use std::collections::{BTreeMap, BTreeSet};

use super::convention::Convention;
use crate::isa::{CallTarget, Decoder, Effect, Instruction, MachineRegister, Operand, ScalarOp};

/// A set of registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    scalars: u128,
    /// 256 vector registers, 256 accumulation registers.
    vectors: [u128; 4],
    /// Every vector register that the convention gives away.
    any_vector: bool,
}

impl Registers {
    fn place(register: MachineRegister) -> Option<(usize, u16)> {
        match register {
            MachineRegister::Vgpr(n) if n < 256 => Some((usize::from(n / 128), n % 128)),
            MachineRegister::Agpr(n) if n < 256 => Some((usize::from(n / 128 + 2), n % 128)),
            MachineRegister::Vgpr(_)
            | MachineRegister::Agpr(_)
            | MachineRegister::Sgpr(_)
            | MachineRegister::Ttmp(_)
            | MachineRegister::FlatScratchLo
            | MachineRegister::FlatScratchHi
            | MachineRegister::XnackMaskLo
            | MachineRegister::XnackMaskHi
            | MachineRegister::VccLo
            | MachineRegister::VccHi
            | MachineRegister::M0
            | MachineRegister::ExecLo
            | MachineRegister::ExecHi
            | MachineRegister::Scc => None,
        }
    }

    fn insert(&mut self, register: MachineRegister) {
        if let MachineRegister::Sgpr(n) = register {
            self.scalars |= 1u128.checked_shl(n.into()).unwrap_or(0);
        } else if let Some((word, bit)) = Registers::place(register) {
            if let Some(word) = self.vectors.get_mut(word) {
                *word |= 1u128.checked_shl(bit.into()).unwrap_or(0);
            }
        } else if matches!(
            register,
            MachineRegister::Vgpr(_) | MachineRegister::Agpr(_)
        ) {
            self.any_vector = true;
        }
    }

    /// Whether the register is one of them.
    pub(super) fn contains(&self, register: MachineRegister) -> bool {
        if let MachineRegister::Sgpr(n) = register {
            return self.scalars & 1u128.checked_shl(n.into()).unwrap_or(0) != 0;
        }
        match Registers::place(register) {
            _ if self.any_vector => true,
            Some((word, bit)) => (self.vectors.get(word))
                .is_some_and(|word| word & 1u128.checked_shl(bit.into()).unwrap_or(0) != 0),
            None => true,
        }
    }

    fn add(&mut self, other: &Registers) {
        self.scalars |= other.scalars;
        for (word, other) in self.vectors.iter_mut().zip(other.vectors) {
            *word |= other;
        }
        self.any_vector |= other.any_vector;
    }
}

/// What one function does by itself.
#[derive(Debug, Default)]
struct Summary {
    writes: Registers,
    calls: BTreeSet<u64>,
    /// It could not be decoded, calls what is not known, or writes registers that are not known.
    unknown: bool,
}

/// What each function of an object can write.
#[derive(Debug, Default)]
pub(super) struct Callees {
    /// By address; nothing for functions that call what is not known.
    functions: BTreeMap<u64, Option<Registers>>,
}

impl Callees {
    /// Reads every function: its address and its code.
    pub(super) fn new<'a>(
        decoder: &Decoder,
        functions: impl IntoIterator<Item = (u64, &'a [u8])>,
    ) -> Callees {
        let summaries: BTreeMap<u64, Summary> = (functions.into_iter())
            .map(|(address, code)| (address, summarize(decoder, code, address)))
            .collect();
        let mut found: BTreeMap<u64, Option<Registers>> = (summaries.iter())
            .map(|(address, one)| (*address, (!one.unknown).then(|| one.writes.clone())))
            .collect();
        // A chain of calls passes on one step a round at least; what is longer stays unknown.
        const ROUNDS: usize = 64;
        for _ in 0..ROUNDS {
            if !add_callees(&summaries, &mut found) {
                return Callees { functions: found };
            }
        }
        for (address, summary) in &summaries {
            if !summary.calls.is_empty() {
                found.insert(*address, None);
            }
        }
        Callees { functions: found }
    }

    /// What the function at this address can write, with all that it calls; nothing if that is not known.
    pub(super) fn writes(&self, address: u64) -> Option<&Registers> {
        self.functions.get(&address)?.as_ref()
    }
}

/// Adds to each function what those that it calls write. Gives whether anything changed.
fn add_callees(
    summaries: &BTreeMap<u64, Summary>,
    found: &mut BTreeMap<u64, Option<Registers>>,
) -> bool {
    let mut changed = false;
    for (address, summary) in summaries {
        let Some(Some(before)) = found.get(address) else {
            continue;
        };
        let mut after = Some(before.clone());
        for callee in &summary.calls {
            match (found.get(callee), &mut after) {
                (Some(Some(writes)), Some(after)) => after.add(writes),
                (_, after) => *after = None,
            }
        }
        if after.as_ref() != Some(before) {
            changed = true;
            found.insert(*address, after);
        }
    }
    changed
}

/// Reads a function from its first instruction to the last, as if it ran through them all once. Addresses
/// of callees are followed from where they are made to the call, within a stretch without branch targets.
fn summarize(decoder: &Decoder, code: &[u8], address: u64) -> Summary {
    let mut summary = Summary::default();
    let mut targets = BTreeSet::new();
    let mut instructions = Vec::new();
    for instruction in decoder.instructions(code, address) {
        let Ok(instruction) = instruction else {
            summary.unknown = true;
            return summary;
        };
        if let Effect::Branch { target, .. } = instruction.effect {
            targets.insert(target);
        }
        instructions.push(instruction);
    }
    let end = address.saturating_add(code.len() as u64);
    let mut known: BTreeMap<MachineRegister, u64> = BTreeMap::new();
    for instruction in &instructions {
        if targets.contains(&instruction.address) {
            known.clear();
        }
        summary.read(instruction, &known);
        if let Effect::Branch { target, .. } = instruction.effect
            && !(address..end).contains(&target)
        {
            summary.calls.insert(target);
        }
        follow_address(instruction, &mut known);
    }
    summary
}

impl Summary {
    fn read(&mut self, instruction: &Instruction, known: &BTreeMap<MachineRegister, u64>) {
        self.unknown |= instruction.writes.is_indirect();
        for register in instruction
            .writes
            .spans()
            .iter()
            .flat_map(|s| s.registers())
        {
            self.writes.insert(register);
        }
        let target = match instruction.effect {
            Effect::Call { target, .. } => target,
            Effect::SetPc { src } => {
                let first = src.registers().map(|span| span.first);
                if first == Some(MachineRegister::Sgpr(Convention::Llvm.return_address())) {
                    return;
                }
                CallTarget::Registers(src)
            }
            Effect::GprIndex | Effect::OtherJump => {
                self.unknown = true;
                return;
            }
            Effect::VgprMsb { bits } => {
                self.unknown |= bits != 0;
                return;
            }
            _ => return,
        };
        let address = match target {
            CallTarget::Address(address) => Some(address),
            CallTarget::Registers(operand) => {
                (operand.registers()).and_then(|span| known.get(&span.first).copied())
            }
        };
        match address {
            Some(address) => drop(self.calls.insert(address)),
            None => self.unknown = true,
        }
    }
}

/// Follows `s_getpc_b64` and the addition to its low half.
fn follow_address(instruction: &Instruction, known: &mut BTreeMap<MachineRegister, u64>) {
    let sum = match instruction.effect {
        Effect::GetPc { dst } => dst.registers().map(|span| (span.first, instruction.end())),
        Effect::Scalar {
            op: ScalarOp::Add,
            dst,
            a: Operand::Registers(a),
            b,
        } => (|| {
            let base = known.get(&a.first)?;
            let address = base.wrapping_add_signed(b.constant()?);
            Some((dst.registers()?.first, address))
        })(),
        _ => None,
    };
    for register in instruction
        .writes
        .spans()
        .iter()
        .flat_map(|s| s.registers())
    {
        known.remove(&register);
    }
    if let Some((register, address)) = sum {
        known.insert(register, address);
    }
}
