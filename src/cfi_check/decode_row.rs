//! Decodes the rows of a function once, for the comparison with many instructions.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "only vector and accumulation registers are collected"
)]

use std::rc::Rc;

use super::decode_rule::{self, DecodedCfa, DecodedRule, ScalarPlace, VectorPlace};
use crate::abi::Convention;
use crate::arch::{Processor, Register, WaveSize};
use crate::expr::Encoding;
use crate::frame::{RegisterRule, Row};
use crate::isa::MachineRegister;

/// One row, as far as machine code can contradict it.
#[derive(Clone, Debug, Default)]
pub(super) struct DecodedRow {
    pub(super) start: u64,
    pub(super) end: u64,
    /// True if it has rules about a caller. A kernel has none.
    pub(super) has_caller: bool,
    pub(super) cfa: Option<DecodedCfa>,
    /// The start of the first of successive rows with this CFA.
    pub(super) cfa_since: u64,
    /// The rule of the return address.
    pub(super) return_address: DecodedRule,
    /// The rule of the execution mask, if there is one.
    pub(super) exec: Option<DecodedRule>,
    /// The checkable rules of other registers, by ascending register.
    pub(super) registers: Vec<(Register, MachineRegister, Rc<DecodedRule>)>,
    /// The scalar registers that have a rule.
    scalars: u128,
    /// The vector and accumulation registers that have a rule.
    vectors: RegisterSet,
    /// The vector and accumulation registers that the rules name.
    named: RegisterSet,
    /// The scalar registers that the rules, including the CFA's, name.
    named_scalars: u128,
    /// The places in scratch that the rules name, as distances from the CFA in bytes of the wave.
    pub(super) saved: Vec<i64>,
}

/// Reads the rows of a function in succession. A row shares most rules with the previous one, so only rules that were added, changed or
/// removed are decoded.
pub(super) struct RowReader<'a> {
    /// The column of the return address.
    return_address: u64,
    encoding: Encoding,
    wave_size: WaveSize,
    /// The rules of the last row, by ascending number of the register.
    rules: Vec<(u64, RegisterRule<'a>)>,
    /// The decoded rules.
    decoded: DecodedRow,
}

impl<'a> RowReader<'a> {
    /// Creates a reader.
    ///
    /// * `return_address`: the column of the return address.
    pub(super) fn new(
        return_address: u64,
        encoding: Encoding,
        wave_size: WaveSize,
    ) -> RowReader<'a> {
        RowReader {
            return_address,
            encoding,
            wave_size,
            rules: Vec::new(),
            decoded: DecodedRow::default(),
        }
    }

    /// Reads a row.
    pub(super) fn read(&mut self, row: &Row<'a>) -> DecodedRow {
        let mut last = core::mem::take(&mut self.rules);
        // The first rules are mostly equal.
        let pairs = last.iter().zip(row.rules());
        let same = pairs.take_while(|(before, rule)| before == rule).count();
        let mut before = last.get(same..).unwrap_or_default().iter().peekable();
        for (number, rule) in row.rules().get(same..).unwrap_or_default() {
            while let Some((gone, _)) = before.next_if(|(before, _)| before < number) {
                self.set(*gone, None);
            }
            let before = before.next_if(|(before, _)| before == number);
            if before.is_none_or(|(_, before)| before != rule) {
                self.set(*number, Some(*rule));
            }
        }
        for (gone, _) in before {
            self.set(*gone, None);
        }
        last.clear();
        last.extend_from_slice(row.rules());
        self.rules = last;
        let mut decoded = DecodedRow {
            start: row.start,
            end: row.end,
            cfa_since: row.start,
            cfa: decode_rule::cfa(row.cfa, self.encoding),
            ..self.decoded.clone()
        };
        decoded.name_all();
        decoded
    }

    /// Sets the rule of a register. `None` removes it.
    fn set(&mut self, number: u64, rule: Option<RegisterRule<'a>>) {
        let (encoding, wave_size) = (self.encoding, self.wave_size);
        let decode = |rule, dwords| decode_rule::register(rule, dwords, encoding, wave_size);
        let decoded = &mut self.decoded;
        if number == self.return_address {
            decoded.has_caller = rule.is_some_and(|rule| rule != RegisterRule::Undefined);
            decoded.return_address = rule.map_or(DecodedRule::None, |rule| decode(rule, 2));
            return;
        }
        let Some(register) = Register::from_number(number) else {
            return;
        };
        let Some(machine) = decode_rule::machine_register(register) else {
            return;
        };
        let rule = rule.filter(|rule| *rule != RegisterRule::SameValue);
        let dwords = match machine {
            MachineRegister::ExecLo => {
                let dwords = if wave_size == WaveSize::Wave32 { 1 } else { 2 };
                decoded.exec = rule.map(|rule| decode(rule, dwords));
                return;
            }
            MachineRegister::Sgpr(n) => {
                decoded.scalars &= !bit(n);
                decoded.scalars |= if rule.is_some() { bit(n) } else { 0 };
                1
            }
            _ => {
                decoded.vectors.set(machine, rule.is_some());
                u8::MAX
            }
        };
        let known = (decoded.registers).binary_search_by_key(&register, |(register, ..)| *register);
        let rule = rule.map_or(DecodedRule::None, |rule| decode(rule, dwords));
        match (known, rule) {
            (Ok(at), DecodedRule::None) => drop(decoded.registers.remove(at)),
            (Ok(at), rule) => {
                if let Some((.., known)) = decoded.registers.get_mut(at) {
                    *known = Rc::new(rule);
                }
            }
            (Err(_), DecodedRule::None) => {}
            (Err(at), rule) => {
                let rule = (register, machine, Rc::new(rule));
                decoded.registers.insert(at, rule);
            }
        }
    }
}

impl DecodedRow {
    /// Returns true if the scalar register has a rule.
    pub(super) fn has_scalar(&self, n: u8) -> bool {
        self.scalars & bit(n) != 0
    }

    /// Returns the registers of a set, one bit each, that have no rule.
    pub(super) fn without_rule(&self, registers: u128) -> u128 {
        registers & !self.scalars
    }

    /// Returns true if the scalar register is named by a rule.
    pub(super) fn names_scalar(&self, n: u8) -> bool {
        self.named_scalars & bit(n) != 0
    }

    /// Returns true if the vector or accumulation register has a rule.
    pub(super) fn has_vector(&self, register: MachineRegister) -> bool {
        self.vectors.contains(register)
    }

    /// Returns true if the vector or accumulation register is named by a rule.
    pub(super) fn names_vector(&self, register: MachineRegister) -> bool {
        self.named.contains(register)
    }

    /// Collects the registers that the rules name.
    fn name_all(&mut self) {
        let pair = |low: u8| bit(low) | bit(low.saturating_add(1));
        if let Some(cfa) = self.cfa {
            self.named_scalars |= pair(cfa.number.register);
        }
        let rules = self.registers.iter().map(|(.., rule)| &**rule);
        let others = [Some(&self.return_address), self.exec.as_ref()];
        for rule in rules.chain(others.into_iter().flatten()) {
            let places = match rule {
                DecodedRule::Scalar(place) => core::slice::from_ref(place),
                DecodedRule::Pair(places) => places,
                DecodedRule::Vector(place) => {
                    insert_vector_place(&mut self.named, &mut self.saved, place);
                    &[]
                }
                DecodedRule::Number(number) => {
                    self.named_scalars |= pair(number.register);
                    &[]
                }
                DecodedRule::None | DecodedRule::CfaScaled { .. } => &[],
            };
            for place in places {
                match *place {
                    ScalarPlace::Scalar(n) => self.named_scalars |= bit(n),
                    ScalarPlace::Lane { vector, .. } => self.named.insert(vector),
                }
            }
        }
        for (_, machine, _) in &self.registers {
            self.named.insert(*machine);
        }
    }

    /// Returns the calling convention of the function, from the register in the CFA. `None` if it is unknown.
    pub(super) fn convention(&self) -> Option<Convention> {
        match self.cfa?.number.register {
            32 | 33 => Some(Convention::Llvm),
            16 | 14 => Some(Convention::Gcc),
            _ => None,
        }
    }
}

/// The largest numbers of registers of any processor.
pub(super) const VGPRS: u16 = Processor::UNKNOWN.max_vgprs();
pub(super) const AGPRS: u16 = Processor::UNKNOWN.max_agprs();

/// A set of vector registers, followed by accumulation registers, one bit each.
#[derive(Clone, Debug, Default)]
struct RegisterSet {
    words: [u64; VGPRS as usize / 64 + AGPRS as usize / 64],
}

impl RegisterSet {
    fn place(register: MachineRegister) -> Option<(usize, u32)> {
        let n = match register {
            MachineRegister::Vgpr(n) if n < VGPRS => n,
            MachineRegister::Agpr(n) if n < AGPRS => n + VGPRS,
            _ => return None,
        };
        Some((usize::from(n / 64), u32::from(n % 64)))
    }

    fn insert(&mut self, register: MachineRegister) {
        self.set(register, true);
    }

    /// Adds the register, or removes it.
    fn set(&mut self, register: MachineRegister, is_in: bool) {
        if let Some((word, bit)) = RegisterSet::place(register)
            && let Some(word) = self.words.get_mut(word)
        {
            let bit = 1u64.checked_shl(bit).unwrap_or(0);
            *word = if is_in { *word | bit } else { *word & !bit };
        }
    }

    fn contains(&self, register: MachineRegister) -> bool {
        RegisterSet::place(register).is_some_and(|(word, bit)| {
            let word = self.words.get(word).copied().unwrap_or(0);
            word.checked_shr(bit).unwrap_or(0) & 1 != 0
        })
    }
}

/// Returns the bit of a scalar register in a set.
fn bit(n: u8) -> u128 {
    1u128.checked_shl(n.into()).unwrap_or(0)
}

/// Collects the registers and the places in scratch that a place names.
fn insert_vector_place(registers: &mut RegisterSet, saved: &mut Vec<i64>, place: &VectorPlace) {
    match place {
        VectorPlace::Register(register) => registers.insert(*register),
        VectorPlace::Saved(plus) => saved.push(*plus),
        VectorPlace::Select(places) => {
            let [zero, one] = &**places;
            insert_vector_place(registers, saved, zero);
            insert_vector_place(registers, saved, one);
        }
    }
}
