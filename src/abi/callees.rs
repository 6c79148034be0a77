//! Which registers the functions of an object can write, with all that they call.
//!
//! Compilers that see a callee's code keep values in caller-saved registers, if the callee does not write
//! them. Without knowing what callees write, nothing could be said after a call in such code. What is
//! found here is never too little: where a call cannot be followed, every caller-saved register counts as
//! written.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::Convention;
use crate::isa::{CallTarget, Decoder, Effect, Instruction, MachineRegister, Operand, ScalarOp};

/// A function that calls more functions than these is taken to write everything.
const FUNCTIONS: usize = 256;

/// A set of registers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Registers {
    scalars: u128,
    /// 256 vector registers, 256 accumulation registers.
    vectors: [u128; 4],
    /// Every caller-saved vector register.
    any_vector: bool,
}

impl Registers {
    fn place(register: MachineRegister) -> Option<(usize, u16)> {
        match register {
            MachineRegister::Vgpr(n) if n < 256 => Some((usize::from(n / 128), n % 128)),
            MachineRegister::Agpr(n) if n < 256 => {
                Some((usize::from(n / 128).saturating_add(2), n % 128))
            }
            _ => None,
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
    pub(crate) fn contains(&self, register: MachineRegister) -> bool {
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

/// A function that can be called. What it does is read when it is asked for: few are called, and an object
/// can have many.
#[derive(Debug)]
struct Callee<'a> {
    code: &'a [u8],
    summary: OnceLock<Box<Summary>>,
    /// What it writes with all that it calls; nothing if that is not known.
    writes: OnceLock<Option<Box<Registers>>>,
}

/// What each function of an object can write.
#[derive(Debug)]
pub(crate) struct Callees<'a> {
    decoder: Option<Decoder>,
    functions: BTreeMap<u64, Callee<'a>>,
}

impl<'a> Callees<'a> {
    /// The functions: the address and the code of each.
    pub(crate) fn new(
        decoder: Option<Decoder>,
        functions: impl IntoIterator<Item = (u64, &'a [u8])>,
    ) -> Callees<'a> {
        let functions = functions.into_iter().map(|(address, code)| {
            let callee = Callee {
                code,
                summary: OnceLock::new(),
                writes: OnceLock::new(),
            };
            (address, callee)
        });
        let functions: BTreeMap<u64, Callee<'a>> = functions.collect();
        leave_out_overlapping(&functions);
        Callees { decoder, functions }
    }

    /// Whether a function begins at an address.
    pub(crate) fn has(&self, address: u64) -> bool {
        self.functions.contains_key(&address)
    }

    /// What the function at this address can write, with all that it calls; nothing if that is not known.
    pub(crate) fn writes(&self, address: u64) -> Option<&Registers> {
        let callee = self.functions.get(&address)?;
        let writes = callee
            .writes
            .get_or_init(|| self.all_writes(address).map(Box::new));
        writes.as_deref()
    }

    /// Adds up what is written by every function that can be reached by calls.
    fn all_writes(&self, address: u64) -> Option<Registers> {
        let decoder = self.decoder.as_ref()?;
        let mut all = Registers::default();
        let mut seen = BTreeSet::from([address]);
        let mut work = vec![address];
        while let Some(address) = work.pop() {
            let callee = self.functions.get(&address)?;
            let read = || Box::new(summarize(decoder, callee.code, address));
            let summary = callee.summary.get_or_init(read);
            if summary.unknown || seen.len() > FUNCTIONS {
                return None;
            }
            all.add(&summary.writes);
            work.extend(summary.calls.iter().filter(|callee| seen.insert(**callee)));
        }
        Some(all)
    }
}

/// Of functions that overlap others more than a few times over it is not known what they do. Each would be read to its end: a function
/// of a few bytes more for each of so many symbols.
fn leave_out_overlapping(functions: &BTreeMap<u64, Callee<'_>>) {
    /// How often all code may be read, on average.
    const TIMES: u64 = 4;
    let (mut end, mut covered, mut read) = (0_u64, 0_u64, 0_u64);
    for (address, callee) in functions {
        let length = callee.code.len() as u64;
        let last = address.saturating_add(length);
        covered = covered.saturating_add(last.saturating_sub(end.max(*address)));
        end = end.max(last);
        let sum = read.saturating_add(length);
        if sum <= covered.saturating_mul(TIMES) {
            read = sum;
        } else {
            let _ = callee.summary.set(Box::new(Summary {
                unknown: true,
                ..Summary::default()
            }));
        }
    }
}

/// Reads a function from its first instruction to the last, as if it ran through them all once. Addresses
/// of callees are followed from where they are made to the call, within a stretch without branch targets.
fn summarize(decoder: &Decoder, code: &[u8], address: u64) -> Summary {
    let mut summary = Summary::default();
    let Ok(instructions) = decoder.decode_all(code, address) else {
        summary.unknown = true;
        return summary;
    };
    let branches = instructions.iter().filter_map(|one| match one.effect {
        Effect::Branch { target, .. } => Some(target),
        _ => None,
    });
    let targets: BTreeSet<u64> = branches.collect();
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
    // All of them would be gone through for each function that calls this one.
    summary.unknown |= summary.calls.len() > FUNCTIONS;
    summary
}

/// Where the calls of a function go whose callees are known: the address of the call, and of the callee.
pub(crate) fn call_targets(instructions: &[Instruction]) -> BTreeMap<u64, u64> {
    let branches = instructions.iter().filter_map(|one| match one.effect {
        Effect::Branch { target, .. } => Some(target),
        _ => None,
    });
    let targets: BTreeSet<u64> = branches.collect();
    let mut known = BTreeMap::new();
    let mut calls = BTreeMap::new();
    for instruction in instructions {
        if targets.contains(&instruction.address) {
            known.clear();
        }
        let target = match instruction.effect {
            Effect::Call { target, .. } => Some(target),
            Effect::SetPc { src } => Some(CallTarget::Registers(src)),
            _ => None,
        };
        let address = match target {
            Some(CallTarget::Address(address)) => Some(address),
            Some(CallTarget::Registers(operand)) => {
                (operand.registers()).and_then(|span| known.get(&span.first).copied())
            }
            None => None,
        };
        calls.extend(address.map(|address| (instruction.address, address)));
        follow_address(instruction, &mut known);
    }
    calls
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
    // Nothing is known at nearly all instructions.
    if known.is_empty() && sum.is_none() {
        return;
    }
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
