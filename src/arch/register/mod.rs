//! DWARF register numbers: their registers, and the processors that have them.
//!
//! The numbers are in one [table](Register::ranges); names are in `name`. The contents of registers are left to
//! [`Wave`](crate::wave::Wave). Source: USAGE "Register Identifier".

mod name;
mod table;
#[cfg(test)]
mod tests;
mod unnumbered;

pub use name::RegisterName;
pub use table::{RegisterKind, RegisterRange};
pub use unnumbered::UnnumberedRegister;

use core::ops::Range;

use super::{Lane, Processor, WaveSize};

/// A DWARF register number.
///
/// Any number is allowed, even if it is reserved or beyond the table: DWARF may name such a register, and only reading it is an error.
/// [`class`](Register::class) is `None` then.
///
/// Registers whose size depends on the wave size have a number for each wave size. The number alone therefore determines the size.
///
/// ```
/// use hetdwarf::arch::{Register, WaveSize};
///
/// let register = Register::from_name("v42", Some(WaveSize::Wave32)).unwrap();
/// assert_eq!(register, Register(1578));
/// assert_eq!(register.size_in_bits(), Some(32 * 32));
/// assert_eq!(Register(2602).to_string(), "v42", "the same, in a wave of 64 lanes");
/// assert_eq!(Register(130).class(), None, "reserved");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub u16);

/// The class of a register.
///
/// It is exhaustive on purpose: each is read in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegisterClass {
    /// The program counter.
    Pc,
    /// The execution mask: one bit a lane.
    Exec,
    /// The vector condition code: one bit a lane.
    Vcc,
    /// The status register.
    Status,
    /// A scalar general purpose register.
    Sgpr,
    /// A vector general purpose register: 32 bits a lane.
    Vgpr,
    /// A vector accumulation register: 32 bits a lane.
    Agpr,
}

/// Returns a register whose number is checked at compile time.
#[expect(
    clippy::panic,
    reason = "in constants only, where it is an error of the compiler's"
)]
const fn found(register: Option<Register>) -> Register {
    match register {
        Some(register) => register,
        None => panic!("there is no register of this number"),
    }
}

impl Register {
    /// The program counter of a 32-bit process. No `amdgcn` processor has one.
    pub const PC_32: Register = Register(0);
    /// The execution mask of a wave of 32 lanes.
    pub const EXEC_32: Register = Register(1);
    /// The program counter of a 64-bit process.
    pub const PC_64: Register = Register(16);
    /// The execution mask of a wave of 64 lanes.
    pub const EXEC_64: Register = Register(17);
    /// The status register.
    pub const STATUS: Register = Register(128);
    /// The vector condition code of a wave of 32 lanes.
    pub const VCC_32: Register = Register(512);
    /// The vector condition code of a wave of 64 lanes.
    pub const VCC_64: Register = Register(768);

    /// Returns the number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Returns the register with this number, or `None` if it is beyond the last number of the table (4095). Reserved numbers are registers
    /// without a [`class`](Register::class).
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast is done only for numbers of the table, which are of 16 bits"
    )]
    pub const fn from_number(number: u64) -> Option<Register> {
        if let [.., last] = table::RANGES
            && number <= last.last as u64
        {
            Some(Register(number as u16))
        } else {
            None
        }
    }

    /// Returns the whole table of numbers, ascending and without gaps.
    #[must_use]
    pub const fn ranges() -> &'static [RegisterRange] {
        table::RANGES
    }

    /// Returns the row of the table that contains the number, or `None` if it is beyond the table.
    #[must_use]
    pub const fn range(self) -> Option<&'static RegisterRange> {
        let Some((_, [row, ..])) = table::ROWS.split_at_checked(self.0 as usize) else {
            return None;
        };
        match table::RANGES.split_at_checked(*row as usize) {
            Some((_, [range, ..])) => Some(range),
            Some(_) | None => None,
        }
    }

    const fn kind(self) -> Option<RegisterKind> {
        match self.range() {
            Some(range) => range.kind,
            None => None,
        }
    }

    /// Returns the class of the register. `None` if the number is reserved.
    #[must_use]
    pub const fn class(self) -> Option<RegisterClass> {
        match self.kind() {
            Some(kind) => Some(kind.class),
            None => None,
        }
    }

    /// Returns the number among registers of its class, as in the assembler: 64 for SGPR64, 512 for VGPR512. `None` for a register that is
    /// the only one of its class, and for a reserved number.
    #[must_use]
    pub const fn index(self) -> Option<u16> {
        let Some(range) = self.range() else {
            return None;
        };
        let Some(kind) = range.kind else {
            return None;
        };
        if kind.class.is_indexed() {
            Some(self.0 - range.first + kind.first_index)
        } else {
            None
        }
    }

    /// Returns the size in bits, or `None` if the number is reserved. A vector register has 32 bits per lane, with lane 0 at bit 0: 1024 or
    /// 2048 bits.
    #[must_use]
    #[expect(
        clippy::indexing_slicing,
        reason = "a table of 256 entries, and an index of one byte"
    )]
    pub const fn size_in_bits(self) -> Option<u32> {
        let Some((_, [row, ..])) = table::ROWS.split_at_checked(self.0 as usize) else {
            return None;
        };
        match table::SIZES[*row as usize] {
            0 => None,
            size => Some(size as u32),
        }
    }

    /// Splits bits of the register at the boundaries of lanes. Returns each lane, and the bits relative to its first. A register that all
    /// lanes share is one piece, without a lane.
    pub fn by_lane(self, bits: Range<u32>) -> impl Iterator<Item = (Option<Lane>, Range<u32>)> {
        let last = match self.is_vector() {
            true => bits.end.saturating_sub(1) / 32,
            false => 0,
        };
        let first = (bits.start / 32).min(last);
        (first..=last).map(move |number| {
            if !self.is_vector() {
                return (None, bits.clone());
            }
            let start = number * 32;
            let end = start.saturating_add(32).min(bits.end);
            let within = bits.start.max(start) - start..end - start;
            (u8::try_from(number).ok().map(Lane), within)
        })
    }

    /// Returns true if the register has 32 bits for every lane.
    #[must_use]
    pub const fn is_vector(self) -> bool {
        matches!(
            self.class(),
            Some(RegisterClass::Vgpr | RegisterClass::Agpr)
        )
    }

    /// Returns the only wave size in which the register exists, or `None` if it is the same in both or reserved.
    #[must_use]
    pub const fn wave_size(self) -> Option<WaveSize> {
        match self.kind() {
            Some(kind) => kind.wave_size,
            None => None,
        }
    }

    /// Returns the scalar register `sN`, or `None` if no number is assigned to it.
    #[must_use]
    pub const fn sgpr(n: u16) -> Option<Register> {
        // Scalar registers are the same in both wave sizes.
        find(RegisterClass::Sgpr, n, WaveSize::Wave64)
    }

    /// Returns the vector register `vN` of a wave of this size, or `None` if no number is assigned to it.
    #[must_use]
    pub const fn vgpr(n: u16, wave_size: WaveSize) -> Option<Register> {
        find(RegisterClass::Vgpr, n, wave_size)
    }

    /// Returns the accumulation register `aN` of a wave of this size, or `None` if no number is assigned to it.
    #[must_use]
    pub const fn agpr(n: u16, wave_size: WaveSize) -> Option<Register> {
        find(RegisterClass::Agpr, n, wave_size)
    }

    /// Returns the scalar register `sN`, for a number that is known at compile time. An invalid number does not compile.
    ///
    /// ```
    /// use hetdwarf::arch::Register;
    ///
    /// const STACK_POINTER: Register = Register::s::<32>();
    /// assert_eq!(Some(STACK_POINTER), Register::sgpr(32));
    /// ```
    #[must_use]
    pub const fn s<const N: u16>() -> Register {
        const { found(Register::sgpr(N)) }
    }

    /// Returns the vector register `vN` of a wave of this size, as [`s`](Register::s) does.
    #[must_use]
    pub const fn v<const N: u16>(wave_size: WaveSize) -> Register {
        match wave_size {
            WaveSize::Wave32 => const { found(Register::vgpr(N, WaveSize::Wave32)) },
            WaveSize::Wave64 => const { found(Register::vgpr(N, WaveSize::Wave64)) },
        }
    }

    /// Returns the execution mask of a wave of this size.
    #[must_use]
    pub const fn exec(wave_size: WaveSize) -> Register {
        match wave_size {
            WaveSize::Wave32 => Register::EXEC_32,
            WaveSize::Wave64 => Register::EXEC_64,
        }
    }

    /// Returns the vector condition code of a wave of this size.
    #[must_use]
    pub const fn vcc(wave_size: WaveSize) -> Register {
        match wave_size {
            WaveSize::Wave32 => Register::VCC_32,
            WaveSize::Wave64 => Register::VCC_64,
        }
    }

    /// Returns the program counter of a 64-bit process, the only kind that `amdgcn` supports. It is also the column of the return address.
    #[must_use]
    pub const fn pc() -> Register {
        Register::PC_64
    }

    /// Returns true if this processor has the register, in one of the wave sizes it supports.
    ///
    /// Reserved numbers are not available. Neither is `PC_32`, since `amdgcn` has only 64-bit processes. `r600` processors have no
    /// registers, since USAGE does not describe them.
    ///
    /// Sources: USAGE "Register Identifier", "Processors"; for the counts, see [`Processor`].
    #[must_use]
    pub fn available_on(self, processor: &Processor) -> bool {
        let Some(kind) = self.kind() else {
            return false;
        };
        let in_wave = match kind.wave_size {
            Some(size) => processor.supports_wave_size(size),
            None => !processor.wave_sizes().is_empty(),
        };
        let below = |count| self.index().is_some_and(|index| index < count);
        in_wave
            && match kind.class {
                RegisterClass::Pc => self == Register::PC_64,
                RegisterClass::Exec | RegisterClass::Vcc | RegisterClass::Status => true,
                RegisterClass::Sgpr => below(processor.max_sgprs()),
                RegisterClass::Vgpr => below(processor.max_vgprs()),
                RegisterClass::Agpr => below(processor.max_agprs()),
            }
    }
}

/// Returns the register with this index in its class.
const fn find(class: RegisterClass, index: u16, wave_size: WaveSize) -> Option<Register> {
    let mut rows = table::RANGES;
    while let [row, rest @ ..] = rows {
        if let Some(kind) = row.kind
            && kind.class as u8 == class as u8
            && kind.is_in(wave_size)
            && let Some(register) = row.at(index)
        {
            return Some(register);
        }
        rows = rest;
    }
    None
}
