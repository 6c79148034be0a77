//! Describes the target of the code: the wave size and the addressing of scratch.

use crate::arch::{Processor, Register, RegisterClass, ScratchAddressing, WaveSize};
use crate::error::{Error, ErrorKind, Result, SpecRule};

/// The facts of the target on which register rules depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The number of lanes in the function's wavefronts.
    pub wave_size: WaveSize,
    /// The unit of stack and frame pointers: bytes of the wave, or bytes of one lane.
    pub scratch: ScratchAddressing,
}

impl Target {
    /// Returns the facts of a processor.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the processor has no such wavefronts or no scratch.
    pub fn of(processor: &Processor, wave_size: WaveSize) -> Result<Target> {
        if !processor.supports_wave_size(wave_size) {
            return Err(ErrorKind::Unsupported("this wave size on this processor").into());
        }
        let scratch = processor.scratch_addressing();
        let scratch = scratch.ok_or(ErrorKind::Unsupported(
            "call frame information of this processor",
        ))?;
        Ok(Target { wave_size, scratch })
    }

    /// Rejects a register that no wave of the target has.
    pub(super) fn check(self, register: Register) -> Result<()> {
        if register.class().is_none() {
            return Err(SpecRule::RegisterNumber.into());
        }
        match register.wave_size() {
            Some(size) if size != self.wave_size => Err(ErrorKind::TypeMismatch {
                expected: match self.wave_size {
                    WaveSize::Wave32 => "a register of a wave of 32 lanes",
                    WaveSize::Wave64 => "a register of a wave of 64 lanes",
                },
                found: "one of the other wave size",
            }
            .into()),
            Some(_) | None => Ok(()),
        }
    }

    /// Like [`check`](Target::check), by number.
    pub(super) fn check_number(self, number: u64) -> Result<()> {
        let register = Register::from_number(number).ok_or(SpecRule::RegisterNumber)?;
        self.check(register)
    }

    /// Rejects a register other than a scalar one.
    pub(super) fn check_scalar(self, register: Register) -> Result<()> {
        self.check(register)?;
        match register.class() {
            Some(RegisterClass::Sgpr) => Ok(()),
            Some(_) | None => Err(mismatch("a scalar register", "another one")),
        }
    }

    /// Rejects a register without 32 bits for every lane.
    pub(super) fn check_vector(self, register: Register) -> Result<()> {
        self.check(register)?;
        if register.is_vector() {
            return Ok(());
        }
        Err(mismatch(
            "a vector register",
            "a register that is the same for all lanes",
        ))
    }
}

pub(super) fn mismatch(expected: &'static str, found: &'static str) -> Error {
    ErrorKind::TypeMismatch { expected, found }.into()
}

/// Returns the scalar register after this one: the high half of a pair.
pub(super) fn next_scalar(register: Register) -> Result<Register> {
    let index = register.index().and_then(|index| index.checked_add(1));
    let next = index.and_then(Register::sgpr);
    next.ok_or_else(|| SpecRule::RegisterNumber.into())
}
