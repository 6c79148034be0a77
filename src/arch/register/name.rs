//! Formats and parses names of registers.
//!
//! Two spellings are printed: the assembler's (`v42`), which people write, and LLVM's (`VGPR42`), which `llvm-dwarfdump` prints. Both are
//! accepted, and USAGE's own (`EXEC_MASK_64`), too.

use core::fmt;

use super::{Register, RegisterRange};
use crate::arch::WaveSize;

/// The name of a register, ready to be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterName {
    stem: &'static str,
    index: Option<u16>,
}

impl RegisterName {
    /// Creates a name from a stem and, if several registers have it, an index.
    pub(in crate::arch) const fn new(stem: &'static str, index: Option<u16>) -> RegisterName {
        RegisterName { stem, index }
    }
}

impl fmt::Display for RegisterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.stem)?;
        match self.index {
            Some(index) => write!(f, "{index}"),
            None => Ok(()),
        }
    }
}

/// Formats the assembler's name, or `reg N` if the number is reserved.
impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.assembler_name() {
            Some(name) => name.fmt(f),
            None => write!(f, "reg {}", self.0),
        }
    }
}

/// The first and last number that LLVM uses for vector registers of wave64: twice as many as USAGE has.
const LLVM_VGPRS_OF_WAVE64: (u16, u16) = (2560, 3071);

impl Register {
    /// Returns the assembler's name: `v42`, `s33`, `a0`, `exec`, `vcc`, `pc`, `status`. `None` if the number is reserved.
    ///
    /// The wave size is not part of the name: 1536 and 2560 are both `v0`, 0 and 16 are both `pc`.
    #[must_use]
    pub const fn assembler_name(self) -> Option<RegisterName> {
        match self.kind() {
            Some(kind) => Some(RegisterName {
                stem: kind.assembler_name,
                index: self.index(),
            }),
            None => None,
        }
    }

    /// Returns LLVM's name: `VGPR42`, `SGPR33`, `AGPR3`, `EXEC`, `EXEC_LO`, `VCC`, `VCC_LO`, `PC_REG`. For `PC_32` and `STATUS`, which LLVM
    /// does not have, it is USAGE's name.
    ///
    /// `llvm-dwarfdump` prints a plain number for many of these, see [`llvm_dwarfdump_knows`](Register::llvm_dwarfdump_knows). Returns
    /// `None` if the number is reserved, with one exception: in LLVM 22, 2816 to 3071 are `VGPR256` to `VGPR511`.
    #[must_use]
    pub const fn llvm_name(self) -> Option<RegisterName> {
        match (self.kind(), self.llvm_vgpr_of_wave64()) {
            (Some(kind), _) => Some(RegisterName {
                stem: kind.llvm_name,
                index: self.index(),
            }),
            (None, Some(index)) => Some(RegisterName {
                stem: "VGPR",
                index: Some(index),
            }),
            (None, None) => None,
        }
    }

    /// Returns true if `llvm-dwarfdump` of LLVM 22 prints [`llvm_name`](Register::llvm_name) for the register. It prints the number for all
    /// others: `PC_32`, `STATUS`, both `VCC`, and the vector registers of wave32.
    #[must_use]
    pub const fn llvm_dwarfdump_knows(self) -> bool {
        match self.kind() {
            Some(kind) => kind.llvm_dwarfdump_knows,
            None => self.llvm_vgpr_of_wave64().is_some(),
        }
    }

    const fn llvm_vgpr_of_wave64(self) -> Option<u16> {
        match self.0.checked_sub(LLVM_VGPRS_OF_WAVE64.0) {
            Some(index) if self.0 <= LLVM_VGPRS_OF_WAVE64.1 => Some(index),
            _ => None,
        }
    }

    /// Returns the register with this name, ignoring case. `None` if there is none.
    ///
    /// * `name`: the assembler's name (`v42`, `exec`), LLVM's (`VGPR42`, `PC_REG`), USAGE's (`EXEC_MASK_64`), or a number of the table:
    ///   decimal, hexadecimal after `0x`, or decimal after `reg`.
    /// * `wave_size`: selects the number of a name that exists in both wave sizes: vector registers, `exec` and `vcc`. The default is
    ///   wave64, as in the output of `llvm-dwarfdump`.
    ///
    /// `exec_lo` and `vcc_lo` are the registers of wave32 for any `wave_size`, as in LLVM. `VGPR256` to `VGPR511` (but not `v256` to
    /// `v511`) of wave64 are the reserved numbers to which LLVM gives these names. `PC` is the program counter of a 64-bit process.
    #[must_use]
    pub fn from_name(name: &str, wave_size: Option<WaveSize>) -> Option<Register> {
        let wave_size = wave_size.unwrap_or(WaveSize::Wave64);
        // In reverse order, so that `pc` is the program counter of a 64-bit process.
        let rows = || {
            let rows = Register::ranges().iter().rev();
            rows.filter_map(|row| Some((row, row.kind?)))
        };
        let in_wave = || {
            rows()
                .filter(|(_, kind)| kind.is_in(wave_size))
                .find_map(|(row, kind)| {
                    named(row, kind.assembler_name, name)
                        .or_else(|| named(row, kind.llvm_name, name))
                })
        };
        let in_any_wave = || {
            rows()
                .filter(|(_, kind)| !kind.class.is_indexed())
                .find_map(|(row, kind)| {
                    named(row, kind.llvm_name, name).or_else(|| named(row, row.name, name))
                })
        };
        in_wave()
            .or_else(in_any_wave)
            .or_else(|| reserved_vgpr(name).filter(|_| wave_size == WaveSize::Wave64))
            .or_else(|| numbered(name))
    }
}

/// Returns the register of the range whose name is `name`. A name consists of `stem` and, for an indexed class, an index.
fn named(range: &RegisterRange, stem: &str, name: &str) -> Option<Register> {
    let index = strip(name, stem)?;
    if range.kind?.class.is_indexed() {
        range.at(decimal(index)?)
    } else {
        index.is_empty().then_some(Register(range.first))
    }
}

/// Returns a vector register that LLVM has and USAGE reserves.
fn reserved_vgpr(name: &str) -> Option<Register> {
    let index = strip(name, "VGPR").and_then(decimal)?;
    let register = Register(LLVM_VGPRS_OF_WAVE64.0.checked_add(index)?);
    register.llvm_vgpr_of_wave64().map(|_| register)
}

/// Returns the register with a number.
fn numbered(name: &str) -> Option<Register> {
    let number = if let Some(digits) = strip(name, "0x") {
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| u64::from_str_radix(digits, 16).ok())??
    } else {
        let digits = strip(name, "reg").map_or(name, str::trim_start);
        u64::from(decimal(digits)?)
    };
    Register::from_number(number)
}

/// Returns the text after `prefix`, ignoring case.
fn strip<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(tail)
}

/// Parses a number of decimal digits only (`parse` alone would also accept a sign).
fn decimal(digits: &str) -> Option<u16> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok())?
}
