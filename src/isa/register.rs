//! Registers and operands of machine instructions.
//!
//! Their encoding is left to `field`. Sources: "Scalar Operands" and "VGPRs" of AMD's instruction set architecture documents (Vega, MI200,
//! MI300, RDNA 1 to RDNA 4), and USAGE "Register Identifier" for the DWARF numbers.

use core::fmt;

use crate::arch::{Register, WaveSize};

/// One dword of machine state that instructions can name or change: 32 bits, or 32 bits per lane for a vector register.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MachineRegister {
    /// The scalar register `sN`.
    Sgpr(u8),
    /// The vector register `vN`. An instruction of gfx125x contains the low 8 bits; [`Effect::VgprMsb`](super::Effect::VgprMsb) sets the
    /// others.
    Vgpr(u16),
    /// The accumulation register `aN`.
    Agpr(u16),
    /// The register `ttmpN` of the trap handler.
    Ttmp(u8),
    /// The low half of `flat_scratch`, if it is not a pair of `sN`.
    FlatScratchLo,
    /// The high half of `flat_scratch`.
    FlatScratchHi,
    /// The low half of `xnack_mask`.
    XnackMaskLo,
    /// The high half of `xnack_mask`.
    XnackMaskHi,
    /// The low half of `vcc`; all of it in a wave of 32 lanes.
    VccLo,
    /// The high half of `vcc`.
    VccHi,
    /// The register `m0`.
    M0,
    /// The low half of the execution mask; all of it in a wave of 32 lanes.
    ExecLo,
    /// The high half of the execution mask.
    ExecHi,
    /// The scalar condition code: one bit.
    Scc,
}

/// Matches a register that has a name and no number.
macro_rules! unnumbered {
    () => {
        MachineRegister::FlatScratchLo
            | MachineRegister::FlatScratchHi
            | MachineRegister::XnackMaskLo
            | MachineRegister::XnackMaskHi
            | MachineRegister::VccLo
            | MachineRegister::VccHi
            | MachineRegister::M0
            | MachineRegister::ExecLo
            | MachineRegister::ExecHi
            | MachineRegister::Scc
    };
}
pub(super) use unnumbered;

impl MachineRegister {
    /// The largest number of registers `sN`.
    pub(crate) const SGPRS: u8 = 106;
    /// The number of scalar registers including the halves of `vcc`, whose numbers follow.
    pub(crate) const SCALARS: u8 = MachineRegister::SGPRS + 2;

    /// Returns all `sN`, and the halves of `vcc`.
    pub(crate) fn scalars() -> impl Iterator<Item = MachineRegister> {
        let numbered = (0..MachineRegister::SGPRS).map(MachineRegister::Sgpr);
        numbered.chain([MachineRegister::VccLo, MachineRegister::VccHi])
    }

    /// Returns the DWARF register that contains the dword, in a wave of this size, and true for its upper half. Returns `None` for a
    /// register without a DWARF number. In a wave of 32 lanes, the upper halves of `vcc` and `exec` have none.
    #[must_use]
    pub const fn dwarf(self, wave_size: WaveSize) -> Option<(Register, bool)> {
        let is_wide = matches!(wave_size, WaveSize::Wave64);
        let (register, upper) = match self {
            MachineRegister::VccHi | MachineRegister::ExecHi if !is_wide => (None, false),
            MachineRegister::Sgpr(n) => (Register::sgpr(n as u16), false),
            MachineRegister::Vgpr(n) => (Register::vgpr(n, wave_size), false),
            MachineRegister::Agpr(n) => (Register::agpr(n, wave_size), false),
            MachineRegister::VccLo => (Some(vcc(wave_size)), false),
            MachineRegister::VccHi => (Some(vcc(wave_size)), true),
            MachineRegister::ExecLo => (Some(Register::exec(wave_size)), false),
            MachineRegister::ExecHi => (Some(Register::exec(wave_size)), true),
            MachineRegister::Ttmp(_)
            | MachineRegister::FlatScratchLo
            | MachineRegister::FlatScratchHi
            | MachineRegister::XnackMaskLo
            | MachineRegister::XnackMaskHi
            | MachineRegister::M0
            | MachineRegister::Scc => (None, false),
        };
        match register {
            Some(register) => Some((register, upper)),
            None => None,
        }
    }

    /// Returns the register `n` dwords further, in the hardware's order. `None` past the last of its kind.
    #[must_use]
    pub fn plus(self, n: u8) -> Option<MachineRegister> {
        use MachineRegister as R;
        let wide = u16::from(n);
        match (self, n) {
            (register, 0) => Some(register),
            (R::Sgpr(first), _) => first.checked_add(n).map(R::Sgpr),
            (R::Vgpr(first), _) => first.checked_add(wide).map(R::Vgpr),
            (R::Agpr(first), _) => first.checked_add(wide).map(R::Agpr),
            (R::Ttmp(first), _) => first.checked_add(n).map(R::Ttmp),
            (R::FlatScratchLo, 1) => Some(R::FlatScratchHi),
            (R::XnackMaskLo, 1) => Some(R::XnackMaskHi),
            (R::VccLo, 1) => Some(R::VccHi),
            (R::ExecLo, 1) => Some(R::ExecHi),
            (unnumbered!(), _) => None,
        }
    }
}

const fn vcc(wave_size: WaveSize) -> Register {
    match wave_size {
        WaveSize::Wave32 => Register::VCC_32,
        WaveSize::Wave64 => Register::VCC_64,
    }
}

/// Formats the register as the assembler does: `s4`, `v0`, `exec_lo`.
impl fmt::Display for MachineRegister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MachineRegister::Sgpr(n) => write!(f, "s{n}"),
            MachineRegister::Vgpr(n) => write!(f, "v{n}"),
            MachineRegister::Agpr(n) => write!(f, "a{n}"),
            MachineRegister::Ttmp(n) => write!(f, "ttmp{n}"),
            MachineRegister::FlatScratchLo => f.write_str("flat_scratch_lo"),
            MachineRegister::FlatScratchHi => f.write_str("flat_scratch_hi"),
            MachineRegister::XnackMaskLo => f.write_str("xnack_mask_lo"),
            MachineRegister::XnackMaskHi => f.write_str("xnack_mask_hi"),
            MachineRegister::VccLo => f.write_str("vcc_lo"),
            MachineRegister::VccHi => f.write_str("vcc_hi"),
            MachineRegister::M0 => f.write_str("m0"),
            MachineRegister::ExecLo => f.write_str("exec_lo"),
            MachineRegister::ExecHi => f.write_str("exec_hi"),
            MachineRegister::Scc => f.write_str("scc"),
        }
    }
}

/// Consecutive registers of one kind.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first register.
    pub first: MachineRegister,
    /// The number, from 1.
    pub count: u8,
}

impl Span {
    /// Creates a span of this many registers from `first`.
    #[must_use]
    pub const fn new(first: MachineRegister, count: u8) -> Span {
        Span { first, count }
    }

    /// Returns each register. Omits those past the last register of a kind.
    pub fn registers(self) -> impl Iterator<Item = MachineRegister> {
        (0..self.count).filter_map(move |n| self.first.plus(n))
    }

    /// Returns true if the span contains the register.
    #[must_use]
    pub fn contains(self, register: MachineRegister) -> bool {
        self.registers().any(|one| one == register)
    }
}

/// Formats the registers as the assembler does: `s4`, `s[4:5]`, `exec`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use MachineRegister as R;
        let (letter, first) = match (self.first, self.count) {
            (R::VccLo, 2) => return f.write_str("vcc"),
            (R::ExecLo, 2) => return f.write_str("exec"),
            (R::FlatScratchLo, 2) => return f.write_str("flat_scratch"),
            (R::XnackMaskLo, 2) => return f.write_str("xnack_mask"),
            (register, 1) => return register.fmt(f),
            (R::Sgpr(n), _) => ("s", u32::from(n)),
            (R::Ttmp(n), _) => ("ttmp", u32::from(n)),
            (R::Vgpr(n), _) => ("v", u32::from(n)),
            (R::Agpr(n), _) => ("a", u32::from(n)),
            (unnumbered!(), count) => return write!(f, "{}+{count}", self.first),
        };
        let last = first.saturating_add(u32::from(self.count).saturating_sub(1));
        write!(f, "{letter}[{first}:{last}]")
    }
}

/// An operand that an instruction reads.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Registers.
    Registers(Span),
    /// The integer of an inline constant or an immediate field. It is sign-extended for 64-bit operations.
    Integer(i32),
    /// The code, from 240 to 248, of a floating-point constant.
    Float(u8),
    /// The dword after the instruction.
    Literal(u32),
    /// The two dwords after the instruction (gfx125x).
    Literal64(u64),
    /// A register that reads as zero and ignores writes.
    Null,
    /// The code of another source: apertures, `vccz`, `execz`, `scc`, `lds_direct`, `pops_exiting_wave_id`; or one that is invalid for the
    /// instruction.
    Other(u8),
}

impl Operand {
    /// Returns the number, if the instruction contains it: an inline integer, or a literal as a signed number.
    #[must_use]
    pub const fn constant(self) -> Option<i64> {
        match self {
            Operand::Integer(value) => Some(value as i64),
            Operand::Literal(value) => Some(value.cast_signed() as i64),
            Operand::Literal64(value) => Some(value.cast_signed()),
            Operand::Null => Some(0),
            Operand::Registers(_) | Operand::Float(_) | Operand::Other(_) => None,
        }
    }

    /// Returns the registers, if the operand consists of registers.
    #[must_use]
    pub const fn registers(self) -> Option<Span> {
        if let Operand::Registers(span) = self {
            Some(span)
        } else {
            None
        }
    }

    /// Returns the register, if the operand is a single one.
    #[must_use]
    pub const fn register(self) -> Option<MachineRegister> {
        if let Operand::Registers(Span { first, count: 1 }) = self {
            Some(first)
        } else {
            None
        }
    }
}

/// The registers that an instruction writes: those that it names, and those that it always changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writes {
    /// The spans; those from `count` on are equal and unused.
    spans: [Span; Writes::MOST],
    count: u8,
    indirect: bool,
}

impl Default for Writes {
    fn default() -> Writes {
        Writes {
            spans: [Span::new(MachineRegister::Scc, 0); Writes::MOST],
            count: 0,
            indirect: false,
        }
    }
}

impl Writes {
    /// The most spans of any row of the tables.
    pub(super) const MOST: usize = 4;

    pub(super) fn add(&mut self, operand: Operand) {
        let Operand::Registers(span) = operand else {
            return;
        };
        let free = self.spans.get_mut(usize::from(self.count));
        debug_assert!(free.is_some(), "no instruction writes so many");
        if let Some(free) = free {
            *free = span;
            self.count = self.count.saturating_add(1);
        }
    }

    pub(super) fn set_indirect(&mut self) {
        self.indirect = true;
    }

    /// Returns the registers. A span occurs twice if an instruction names it twice.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        self.spans
            .get(..usize::from(self.count))
            .unwrap_or_default()
    }

    /// Returns true if the destination is selected at run time (`m0`, relative addressing). Then any register of the kind in
    /// [`spans`](Writes::spans) may be written.
    #[must_use]
    pub fn is_indirect(&self) -> bool {
        self.indirect
    }

    /// Returns true if the instruction names the register.
    #[must_use]
    pub fn contains(&self, register: MachineRegister) -> bool {
        self.spans().iter().any(|span| span.contains(register))
    }
}
