//! Finds the registers that the functions of an object and their callees can write.
//!
//! Compilers that see a callee's code keep values in caller-saved registers that the callee does not write. Without this analysis, these
//! registers would be unknown after a call. The result is never too small: if a call cannot be followed, every caller-saved register counts
//! as written.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what is not followed is left unknown, whatever it is"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::Convention;
use crate::isa::{
    CallTarget, Decoder, Effect, Instruction, MachineRegister, Operand, ScalarOp, Span,
};

/// The most functions that one function may call. With more, it counts as writing everything.
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
            MachineRegister::Agpr(n) if n < 256 => Some((usize::from(n / 128) + 2, n % 128)),
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

    /// Returns true if the set contains the register.
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

/// The effects of one function without its callees.
#[derive(Debug, Default)]
struct Summary {
    writes: Registers,
    calls: BTreeSet<u64>,
    /// True if it could not be decoded, calls an unknown function, or writes unknown registers.
    unknown: bool,
}

/// A function that can be called. It is decoded on demand, since an object can have many functions of which few are called.
#[derive(Debug)]
struct Callee<'a> {
    code: &'a [u8],
    summary: OnceLock<Box<Summary>>,
    /// The registers that it and its callees write. `None` if unknown.
    writes: OnceLock<Option<Box<Registers>>>,
}

/// The registers that each function of an object can write.
#[derive(Debug)]
pub(crate) struct Callees<'a> {
    decoder: Option<Decoder>,
    functions: BTreeMap<u64, Callee<'a>>,
}

impl<'a> Callees<'a> {
    /// Creates the set of functions, from the address and the code of each.
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

    /// Returns true if a function begins at an address.
    pub(crate) fn has(&self, address: u64) -> bool {
        self.functions.contains_key(&address)
    }

    /// Returns the registers that the function at this address and its callees can write. `None` if they are unknown.
    pub(crate) fn writes(&self, address: u64) -> Option<&Registers> {
        let callee = self.functions.get(&address)?;
        let writes = callee
            .writes
            .get_or_init(|| self.all_writes(address).map(Box::new));
        writes.as_deref()
    }

    /// Combines the writes of every function that is reachable by calls.
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

/// Marks functions that overlap many others as unknown. Otherwise, each would be decoded up to its end, for any number of symbols a few
/// bytes apart.
fn leave_out_overlapping(functions: &BTreeMap<u64, Callee<'_>>) {
    /// The number of times that all code may be decoded, on average.
    const TIMES: u64 = 4;
    let (mut end, mut covered, mut read) = (0_u64, 0_u64, 0_u64);
    for (address, callee) in functions {
        let length = callee.code.len() as u64;
        let last = address.saturating_add(length);
        covered = covered.saturating_add(last.saturating_sub(end.max(*address)));
        end = end.max(last);
        let sum = read + length;
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

/// Decodes a function from its first instruction to the last, as if all of them were executed once.
fn summarize(decoder: &Decoder, code: &[u8], address: u64) -> Summary {
    let mut summary = Summary::default();
    let Ok(instructions) = decoder.decode_all(code, address) else {
        summary.unknown = true;
        return summary;
    };
    let end = address.saturating_add(code.len() as u64);
    let mut addresses = Addresses::of(&instructions);
    for instruction in &instructions {
        addresses.begin(instruction);
        summary.read(instruction, &addresses);
        if let Effect::Branch { target, .. } = instruction.effect
            && !(address..end).contains(&target)
        {
            summary.calls.insert(target);
        }
        addresses.end(instruction);
    }
    // Otherwise, all of them would be visited for each caller of this function.
    summary.unknown |= summary.calls.len() > FUNCTIONS;
    summary
}

/// Returns the known targets of the calls and indirect jumps of a function: the index of each instruction, ascending, and the address.
pub(crate) fn call_targets(instructions: &[Instruction]) -> Vec<(usize, u64)> {
    let mut addresses = Addresses::of(instructions);
    let mut calls = Vec::new();
    for (n, instruction) in instructions.iter().enumerate() {
        addresses.begin(instruction);
        let target = match instruction.effect {
            Effect::Call { target, .. } => addresses.called(target),
            Effect::SetPc { src } => addresses.called(CallTarget::Registers(src)),
            _ => None,
        };
        calls.extend(target.map(|target| (n, target)));
        addresses.end(instruction);
    }
    calls
}

/// The code addresses in registers, between their computation and the call, within code without branch targets.
struct Addresses {
    /// The targets of branches, descending; those before the current instruction are removed.
    targets: Vec<u64>,
    /// The low halves of the addresses.
    known: Vec<(MachineRegister, u64)>,
}

impl Addresses {
    fn of(instructions: &[Instruction]) -> Addresses {
        let branches = instructions.iter().filter_map(|one| match one.effect {
            Effect::Branch { target, .. } => Some(target),
            _ => None,
        });
        let mut targets: Vec<u64> = branches.collect();
        targets.sort_unstable_by(|one, other| other.cmp(one));
        Addresses {
            targets,
            known: Vec::new(),
        }
    }

    /// Updates the state before an instruction. Instructions come in the order of the code.
    fn begin(&mut self, instruction: &Instruction) {
        let is_passed = |target: &mut u64| *target <= instruction.address;
        while self.targets.pop_if(is_passed).is_some() {
            self.known.clear();
        }
    }

    fn get(&self, register: MachineRegister) -> Option<u64> {
        let found = self.known.iter().find(|(known, _)| *known == register);
        found.map(|(_, address)| *address)
    }

    /// Returns the target of a call.
    fn called(&self, target: CallTarget) -> Option<u64> {
        match target {
            CallTarget::Address(address) => Some(address),
            CallTarget::Registers(operand) => self.get(operand.registers()?.first),
        }
    }

    /// Updates the state after an instruction: follows `s_getpc_b64` and the addition to its low half.
    fn end(&mut self, instruction: &Instruction) {
        let sum = match instruction.effect {
            Effect::GetPc { dst } => dst.registers().map(|span| (span.first, instruction.end())),
            // At most instructions, no address is known.
            _ if self.known.is_empty() => return,
            Effect::Scalar {
                op: ScalarOp::Add,
                dst,
                a: Operand::Registers(a),
                b,
            } => (|| {
                let address = self.get(a.first)?.wrapping_add_signed(b.constant()?);
                Some((dst.registers()?.first, address))
            })(),
            _ => None,
        };
        let is_vector = |span: &&Span| {
            matches!(
                span.first,
                MachineRegister::Vgpr(_) | MachineRegister::Agpr(_)
            )
        };
        let spans = instruction.writes.spans().iter();
        for span in spans.filter(|span| !is_vector(span)) {
            self.known.retain(|(known, _)| !span.contains(*known));
        }
        self.known.extend(sum);
    }
}

impl Summary {
    fn read(&mut self, instruction: &Instruction, addresses: &Addresses) {
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
        match addresses.called(target) {
            Some(address) => drop(self.calls.insert(address)),
            None => self.unknown = true,
        }
    }
}
