//! Checks that register numbers exist in the code. Source: USAGE "Register Identifier".

use super::rule::rules;
use super::subject::Facts;
use crate::arch::Register;
use crate::rule::Rule;

rules! {
    RESERVED "register-reserved" Error "USAGE \"Register Identifier\""
        "a register number is reserved"
        "No register has this number today; a later processor may define one. A debugger cannot read it. The numbers are defined by \
         USAGE, and `hetdwarf regs` prints them. They differ from the numbers of the hardware and the assembler: s64 is 1088, because 96 \
         to 127 are reserved.";
    WAVE_SIZE "register-wave-size" Error "USAGE \"Register Identifier\""
        "a register belongs to another wave size"
        "Vector registers, EXEC and VCC have different numbers in wavefronts of 32 and 64 lanes. In code for one size, the registers \
         of the other do not exist. Compilers that choose the mapping per module instead of per function make this mistake.";
    PROCESSOR "register-not-on-processor" Error "USAGE \"Register Identifier\""
        "the processor has no such register"
        "Only some processors have accumulation registers (AGPRs) or more than 256 vector registers. A debugger that asks \
         the hardware for the register gets nothing, or another register.";
}

/// The registers that are known to exist in the code. Nearly all rules are about the same hundred registers.
#[derive(Debug, Default)]
pub(super) struct Existing {
    by_number: Vec<bool>,
}

impl Existing {
    /// Returns the finding about a register number, if there is one.
    pub(super) fn check(
        &mut self,
        facts: &Facts<'_>,
        number: u64,
    ) -> Option<(&'static Rule, String)> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(true) = self.by_number.get(index) {
            return None;
        }
        let wrong = check(facts, number);
        // Numbers of other machines are not checked. They can be of any size.
        if wrong.is_none() && facts.machine.is_amdgpu() {
            if index >= self.by_number.len() {
                self.by_number.resize(index + 1, false);
            }
            if let Some(slot) = self.by_number.get_mut(index) {
                *slot = true;
            }
        }
        wrong
    }
}

/// Returns the finding about a register number, if there is one.
pub(super) fn check(facts: &Facts<'_>, number: u64) -> Option<(&'static Rule, String)> {
    if !facts.machine.is_amdgpu() {
        return None;
    }
    let Some(register) = Register::from_number(number).filter(|r| r.class().is_some()) else {
        return Some((
            &RESERVED,
            format!("the register number {number} is reserved"),
        ));
    };
    if let (Some(of), Some(wave_size)) = (register.wave_size(), facts.wave_size)
        && of != wave_size
    {
        let message = format!(
            "register {number} is {register} of wavefronts of {} lanes, but this code is for {}",
            of.lanes(),
            wave_size.lanes()
        );
        return Some((&WAVE_SIZE, message));
    }
    if !register.available_on(facts.processor) {
        let message = format!(
            "register {number} is {register}, which {} does not have",
            facts.processor.name()
        );
        return Some((&PROCESSOR, message));
    }
    None
}
