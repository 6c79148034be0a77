//! The table of register numbers: every range, including reserved ones.
//!
//! [`Register`] has the accessors of one register. Source: USAGE "Register Identifier".

use super::{Register, RegisterClass};
use crate::arch::WaveSize;

/// Consecutive DWARF register numbers with one meaning.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterRange {
    /// The first number.
    pub first: u16,
    /// The last number, inclusive.
    pub last: u16,
    /// The kind of the registers. `None` if the numbers are reserved.
    pub kind: Option<RegisterKind>,
    /// USAGE's name of the first register, or `reserved`.
    pub name: &'static str,
    /// The purpose of the registers, or of the reserved numbers.
    pub description: &'static str,
}

/// The common properties of a range of registers.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterKind {
    /// The class.
    pub class: RegisterClass,
    /// The number of the range's first register in its class: 64 for the range that starts at SGPR64.
    pub first_index: u16,
    /// The size of each register, in bits. A vector register has 32 bits for every lane.
    pub size_in_bits: u32,
    /// The only wave size in which the registers exist, or `None` if they are the same in both.
    pub wave_size: Option<WaveSize>,
    /// The assembler's name; the index follows if the class has more than one register.
    pub assembler_name: &'static str,
    /// LLVM's name, or USAGE's if LLVM has none; the index follows if the class has more than one register.
    pub llvm_name: &'static str,
    /// True if `llvm-dwarfdump` of LLVM 22 prints LLVM's name; it prints the number otherwise.
    pub llvm_dwarfdump_knows: bool,
}

impl RegisterRange {
    /// Returns true if the numbers are reserved.
    #[must_use]
    pub const fn is_reserved(&self) -> bool {
        self.kind.is_none()
    }

    /// Returns the size of each register, in bits. `None` if the numbers are reserved.
    #[must_use]
    pub const fn size_in_bits(&self) -> Option<u32> {
        match self.kind {
            Some(kind) => Some(kind.size_in_bits),
            None => None,
        }
    }

    /// Returns the register of the range with this index in its class.
    pub(super) const fn at(&self, index: u16) -> Option<Register> {
        if let Some(kind) = self.kind
            && let Some(offset) = index.checked_sub(kind.first_index)
            && let Some(number) = self.first.checked_add(offset)
            && number <= self.last
        {
            Some(Register(number))
        } else {
            None
        }
    }
}

impl RegisterKind {
    /// Returns true if waves of this size have the registers.
    pub(super) const fn is_in(&self, wave_size: WaveSize) -> bool {
        match self.wave_size {
            Some(only) => only as u8 == wave_size as u8,
            None => true,
        }
    }
}

impl RegisterClass {
    /// Returns true if a class has several registers, which an index distinguishes.
    pub(super) const fn is_indexed(self) -> bool {
        matches!(
            self,
            RegisterClass::Sgpr | RegisterClass::Vgpr | RegisterClass::Agpr
        )
    }
}

/// One row per range: `first..=last: (kind), "USAGE's name", "purpose"`. The kind is either `reserved`, or a list: class and first index,
/// size in bits, wave size, the assembler's name, LLVM's name, and `printed` if `llvm-dwarfdump` prints that name.
macro_rules! ranges {
    ($($first:literal ..= $last:literal: ($($kind:tt)*), $name:literal, $description:literal;)*) => {
        pub(super) const RANGES: &[RegisterRange] = &[$(RegisterRange {
            first: $first,
            last: $last,
            kind: ranges!(@kind $($kind)*),
            name: $name,
            description: $description,
        },)*];
    };
    (@kind reserved) => { None };
    (@kind $class:ident $index:literal, $bits:expr, $wave:ident, $assembler:literal, $llvm:literal $knows:ident) => {
        Some(RegisterKind {
            class: RegisterClass::$class,
            first_index: $index,
            size_in_bits: $bits,
            wave_size: ranges!(@wave $wave),
            assembler_name: $assembler,
            llvm_name: $llvm,
            llvm_dwarfdump_knows: ranges!(@knows $knows),
        })
    };
    (@wave both) => { None };
    (@wave wave32) => { Some(WaveSize::Wave32) };
    (@wave wave64) => { Some(WaveSize::Wave64) };
    (@knows printed) => { true };
    (@knows number) => { false };
}

#[rustfmt::skip]
ranges! {
    // numbers     class and index, bits, wave size, names           USAGE's name    for
       0..=0:     (Pc 0,     32,    both,   "pc",     "PC_32"   number),  "PC_32",        "program counter of a 32-bit process";
       1..=1:     (Exec 0,   32,    wave32, "exec",   "EXEC_LO" printed), "EXEC_MASK_32", "execution mask";
       2..=15:    (reserved),                                             "reserved",     "often used registers that have an operation each";
      16..=16:    (Pc 0,     64,    both,   "pc",     "PC_REG"  printed), "PC_64",        "program counter of a 64-bit process";
      17..=17:    (Exec 0,   64,    wave64, "exec",   "EXEC"    printed), "EXEC_MASK_64", "execution mask";
      18..=31:    (reserved),                                             "reserved",     "often used registers that have an operation each";
      32..=95:    (Sgpr 0,   32,    both,   "s",      "SGPR"    printed), "SGPR0",        "scalar general purpose";
      96..=127:   (reserved),                                             "reserved",     "often used registers with a number of one byte";
     128..=128:   (Status 0, 32,    both,   "status", "STATUS"  number),  "STATUS",       "wave status";
     129..=511:   (reserved),                                             "reserved",     "further scalar architectural registers";
     512..=512:   (Vcc 0,    32,    wave32, "vcc",    "VCC_LO"  number),  "VCC_32",       "vector condition code";
     513..=767:   (reserved),                                             "reserved",     "further vector architectural registers of wave32";
     768..=768:   (Vcc 0,    64,    wave64, "vcc",    "VCC"     number),  "VCC_64",       "vector condition code";
     769..=1023:  (reserved),                                             "reserved",     "further vector architectural registers of wave64";
    1024..=1087:  (reserved),                                             "reserved",     "padding";
    1088..=1129:  (Sgpr 64,  32,    both,   "s",      "SGPR"    printed), "SGPR64",       "scalar general purpose";
    1130..=1535:  (reserved),                                             "reserved",     "further scalar general purpose registers";
    1536..=2047:  (Vgpr 0,   32*32, wave32, "v",      "VGPR"    number),  "VGPR0",        "vector general purpose";
    2048..=2303:  (Agpr 0,   32*32, wave32, "a",      "AGPR"    number),  "AGPR0",        "vector accumulation";
    2304..=2559:  (reserved),                                             "reserved",     "further vector accumulation registers of wave32";
    2560..=2815:  (Vgpr 0,   64*32, wave64, "v",      "VGPR"    printed), "VGPR0",        "vector general purpose";
    2816..=3071:  (reserved),                                             "reserved",     "further vector general purpose registers of wave64";
    3072..=3327:  (Agpr 0,   64*32, wave64, "a",      "AGPR"    printed), "AGPR0",        "vector accumulation";
    3328..=3583:  (reserved),                                             "reserved",     "further vector accumulation registers of wave64";
    3584..=4095:  (Vgpr 512, 32*32, wave32, "v",      "VGPR"    number),  "VGPR512",      "vector general purpose, the second block";
}

/// The index in [`RANGES`] of each number of the table. Registers are looked up in every rule of every row.
pub(super) static ROWS: [u8; 4096] = rows();

/// Computes [`ROWS`]. Ranges are ascending and without gaps.
const fn rows() -> [u8; 4096] {
    let mut rows = [0; 4096];
    let mut slots: &mut [u8] = &mut rows;
    let mut ranges = RANGES;
    let (mut number, mut row) = (0, 0);
    while let [slot, rest @ ..] = slots {
        *slot = row;
        slots = rest;
        if let [range, others @ ..] = ranges
            && range.last == number
        {
            ranges = others;
            row += 1;
        }
        number += 1;
    }
    rows
}

/// The size of the registers of each of [`RANGES`], in bits; 0 for reserved ones. As many entries as a row can index.
pub(super) static SIZES: [u16; 256] = sizes();

#[expect(
    clippy::cast_possible_truncation,
    reason = "no register has more than 2048 bits"
)]
const fn sizes() -> [u16; 256] {
    let mut sizes = [0; 256];
    let mut slots: &mut [u16] = &mut sizes;
    let mut ranges = RANGES;
    while let ([slot, rest @ ..], [range, others @ ..]) = (slots, ranges) {
        if let Some(kind) = range.kind {
            *slot = kind.size_in_bits as u16;
        }
        (slots, ranges) = (rest, others);
    }
    sizes
}
