//! Checks the meaning of a single rule: the sizes must match, and the CFA must be an address of the stack. Sources: HET A.6.4.1 and A.6.4.2.2, USAGE
//! "Call Frame Information".

use fallible_iterator::FallibleIterator;
use smallvec::SmallVec;

use super::rule::rules;
use super::subject::Facts;
use crate::arch::{AddressSpace, RegisterClass, ScratchAddressing};
use crate::expr::{Encoding, Operation, operations};
use crate::rule::Rule;

rules! {
    REGISTER_SIZE "cfi-register-size" Error "HET A.6.4.1"
        "a register and the value of its rule differ in size"
        "A register that holds the value of another must have the same size. The address of val_offset(N) has the size of addresses in \
         the CFA's space, and so must a register from which a CFA is computed. A debugger would have to invent or drop bits.";
    UNSCALED "cfi-cfa-unscaled" Error "USAGE \"Call Frame Information\""
        "the CFA uses the stack pointer of one lane as the stack pointer of the wavefront"
        "In code that uses scratch_* instructions, the stack pointer counts the bytes of one lane. An address in private_wave counts the bytes of \
         all lanes, so it is the stack pointer times the number of lanes. Without this factor, a debugger looks for every saved register in the \
         wrong place. LLVM made this mistake until 2026.";
}

/// Returns the registers whose value on entry an expression uses. Stops at an operation that cannot be decoded.
pub(super) fn entry_registers(expression: &[u8], encoding: Encoding) -> SmallVec<[u64; 2]> {
    let mut found = SmallVec::new();
    let mut items = operations(expression, encoding);
    while let Ok(Some(item)) = items.next() {
        if let Operation::CallFrameEntryReg { register } = item.operation {
            found.push(register);
        }
    }
    found
}

/// Returns the problem of the rule register(`saved_in`) of `register`, if their sizes differ.
pub(super) fn register_sizes(facts: &Facts<'_>, register: u64, saved_in: u64) -> Option<String> {
    let (needed, found) = (
        facts.register_bits(register)?,
        facts.register_bits(saved_in)?,
    );
    (needed != found).then(|| {
        format!(
            "{} has {needed} bits, but the rule says that it is in {}, which has {found}",
            facts.register_name(register),
            facts.register_name(saved_in)
        )
    })
}

fn address_bits(space: u64) -> Option<(AddressSpace, u32)> {
    let space = AddressSpace::from_number(space)?;
    // AMDGPU has only 64-bit processes.
    Some((space, space.address_size_in_bits(8)))
}

/// Returns the problem of the rule `val_offset` of `register`, if it differs in size from an address of the CFA.
pub(super) fn value_size(facts: &Facts<'_>, register: u64, space: Option<u64>) -> Option<String> {
    let (space, bits) = address_bits(space?)?;
    let needed = facts.register_bits(register)?;
    (needed != bits).then(|| {
        format!(
            "{} has {needed} bits, and an address in {}, the space of the CFA, has {bits}",
            facts.register_name(register),
            space.name()
        )
    })
}

/// Returns the problem of a CFA that is a register plus an offset: the rule, the message and the help.
pub(super) fn check_cfa(
    facts: &Facts<'_>,
    register: u64,
    space: u64,
) -> Option<(&'static Rule, String, String)> {
    let (space, bits) = address_bits(space)?;
    let name = facts.register_name(register);
    let found = facts.register_bits(register)?;
    if found != bits {
        let message = format!(
            "{name} has {found} bits, and an address in {} has {bits}",
            space.name()
        );
        let help =
            "name the address space with DW_CFA_LLVM_def_aspace_cfa, or compute the address with an expression".to_owned();
        return Some((&REGISTER_SIZE, message, help));
    }
    let is_scalar = facts
        .register(register)
        .is_some_and(|register| register.class() == Some(RegisterClass::Sgpr));
    let counts_lane = facts.processor.scratch_addressing() == Some(ScratchAddressing::Flat);
    if space == AddressSpace::PrivateWave && is_scalar && counts_lane {
        let message = format!(
            "on {}, {name} counts the bytes of one lane, and an address in {} the bytes of all lanes",
            facts.processor.name(),
            space.name()
        );
        let shift = facts.wave_size.map_or(6, |size| size.lanes().ilog2());
        let help = format!(
            "DW_CFA_def_cfa_expression: DW_OP_regx {name}, DW_OP_deref_size 4, DW_OP_lit{shift}, DW_OP_shl, DW_OP_lit6, \
             DW_OP_LLVM_form_aspace_address"
        );
        return Some((&UNSCALED, message, help));
    }
    None
}
