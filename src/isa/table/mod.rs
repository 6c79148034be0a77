//! The tables of encodings and opcodes: the registers that the instructions of each generation write, and the instructions that have an
//! [`Effect`](super::Effect).
//!
//! Reading bits is left to `field`, the meaning to `scalar`, `vector` and `memory`, and printing to `print`.
//! `dwarf-tests/tests/instruction_tables.rs` generates `rows.rs`: it queries LLVM 22's disassembler for every opcode of every encoding of
//! each generation. A list beside it (`facts.rs`) has the other facts: the instructions that change `scc`, `exec` and `m0` without naming
//! them, and the effects.

mod features;
mod index;
mod layout;
mod rows;
#[cfg(test)]
mod tests;

use crate::arch::Family;

use super::effect::{Condition, ExecOp, ScalarOp, VectorOp};
use index::Spans;

pub(super) use index::Text;

pub(super) use features::{Features, ScalarLoad, ScratchAddress, WaitCounts};
pub(super) use layout::{Bits, Encoding, Layout};

/// The facts about an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) shape: Shape,
    pub(super) flags: u8,
    pub(super) op: Op,
    /// The name and operands.
    pub(super) text: Text,
}

impl Row {
    /// The row of instructions whose opcodes need no table.
    pub(super) const NONE: Row = Row {
        shape: Shape::None,
        flags: 0,
        op: Op::Other,
        text: Text(u32::MAX),
    };

    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The instruction writes `scc`.
const SCC: u8 = 1;
/// The instruction writes `exec`.
const EXEC: u8 = 2;
/// The instruction writes `m0`.
const M0: u8 = 4;
/// The destination register is selected at run time.
const INDIRECT: u8 = 8;
/// One literal dword always follows.
const LITERAL: u8 = 16;
/// Two literal dwords always follow.
const LITERAL64: u8 = 32;

/// The name is not the same on all processors of the column.
const UNNAMED: u8 = 64;

/// The flags of a row, for other modules.
pub(super) mod flag {
    pub(in crate::isa) const SCC: u8 = super::SCC;
    pub(in crate::isa) const EXEC: u8 = super::EXEC;
    pub(in crate::isa) const M0: u8 = super::M0;
    pub(in crate::isa) const INDIRECT: u8 = super::INDIRECT;
    pub(in crate::isa) const LITERAL: u8 = super::LITERAL;
    pub(in crate::isa) const LITERAL64: u8 = super::LITERAL64;
    pub(in crate::isa) const UNNAMED: u8 = super::UNNAMED;
}

/// The registers that an instruction writes, with the fields that name them. Numbers count dwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// None.
    None,
    /// Scalar registers, through the field of the destination.
    Scalar(u8),
    /// Scalar registers that get the old value, if it is requested.
    ScalarAtomic(u8),
    /// Vector registers.
    Vector(u8),
    /// Vector registers: this many in a wave of 32 lanes, half as many in a wave of 64.
    VectorByWave(u8),
    /// The low or the high half of a vector register, which bit 7 of the field selects.
    Half,
    /// Accumulation registers.
    Acc(u8),
    /// Accumulation or vector registers, which a bit selects; always accumulation registers on gfx908.
    Matrix(u8),
    /// Vector registers, and scalar registers with one bit for each lane.
    VectorAndMask(u8),
    /// One bit for each lane.
    Mask,
    /// One bit for each lane, to `exec` as well.
    MaskAndExec,
    /// The destination and the first source.
    Swap(u8),
    /// The destination and the first source, each half of a register.
    SwapHalves,
    /// Registers loaded from memory.
    Load(u8),
    /// Registers loaded from memory: this many in a wave of 32 lanes, half as many in a wave of 64.
    LoadByWave(u8),
    /// Registers stored to memory; none is written.
    Store(u8),
    /// Registers that get the old value, if it is requested.
    Atomic(u8),
    /// As many registers as the mask of an image instruction has components.
    ImageLoad,
    /// Four registers, or two if they are packed.
    Gather,
    /// As many registers as the mask has components, if the old value is requested.
    ImageAtomic(u8),
    /// The result, and the stack's address.
    BvhStack(u8),
    /// Ten registers, and the ray's origin and direction.
    BvhDual,
}

/// The effect of a row's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Other,
    Alu(ScalarOp),
    SaveExec(ExecOp),
    WriteExec(ExecOp),
    GetPc,
    SetPc,
    SwapPc,
    Call,
    OtherJump,
    Branch(Option<Condition>),
    EndProgram,
    Trap,
    CodeEnd,
    Clause,
    Wait,
    Nop,
    GprIndex,
    VgprMsb,
    ReadLane,
    WriteLane,
    ReadFirstLane,
    VectorMove,
    Vector(VectorOp),
    /// The first two sources are exchanged.
    Reversed(VectorOp),
    AccRead,
    AccWrite,
    AccMove,
    ScalarLoad,
    /// The number of bytes of memory, extended to a register.
    ScalarLoadPart(u8),
    /// The number of bytes of memory for each lane.
    Access(u8),
}

/// A row of the source, from which `index` computes the lookup tables.
#[derive(Clone, Copy, Debug)]
struct Entry {
    encoding: Encoding,
    /// The opcode in each [`Column`].
    opcodes: [u16; Column::COUNT],
    /// The length of its line in [`rows::TEXTS`], without the line end.
    text_length: usize,
    shape: Shape,
    flags: u8,
    op: Op,
}

/// The opcode in a generation that does not have the instruction.
const ____: u16 = u16::MAX;

/// Rows, one per line: the opcodes in the order of [`Column`], the text, the shape, other changed registers, and the effect, if there is
/// one. An instruction with several opcodes in a generation has a row for each.
///
/// The text begins with the name as LLVM prints it. For FLAT, the part up to the first `_` is left out; `?` stands for a name that differs
/// between the processors of the column. Each operand follows: the letter of its field (`d` destination, `a` `b` `c` sources, `m` mask, `p`
/// address, `s` `t` data, `e` `r` `o` scalar addresses), the register file if it is not the default of the encoding, the number of
/// registers (`w`: one bit for each lane), and `h` for half a register. Last comes the type of its constants if it is not 32 bits: `i`
/// 16-bit integers, `x` 16-bit and `d` 64-bit floating-point numbers. `?` is an operand of another kind, `k` a decimal and `kx` a
/// hexadecimal immediate. `packed` means that halves of sources are selected.
macro_rules! instructions {
    ($($encoding:ident {$(
        [$($opcode:tt)*] $text:literal: $shape:ident $(($n:literal))? $(, $($flag:ident)|+)?
        $(=> $op:ident $(($($argument:tt)+))?)?;
    )*})*) => {
        pub(super) const ENTRIES: &[Entry] = &[$($(Entry {
            encoding: Encoding::$encoding,
            opcodes: [$($opcode),*],
            text_length: $text.len(),
            shape: Shape::$shape $(($n))?,
            flags: 0 $($(| $flag)+)?,
            op: { let op = Op::Other; $(let _ = op; let op = Op::$op $(($($argument)+))?;)? op },
        },)*)*];
        /// A line for each row. One text is used for all rows: rows without a pointer are smaller, and need no relocation when a program
        /// starts.
        pub(super) static TEXTS: &str = concat!($($($text, "\n",)*)*);
    };
}
use instructions;

/// The generations, in the order of the opcodes in rows.
#[derive(Clone, Copy, Debug)]
enum Column {
    Gfx9,
    Gfx90a,
    Gfx942,
    Gfx950,
    Gfx10,
    Gfx11,
    Gfx12,
    Gfx125x,
}

impl Column {
    const COUNT: usize = Column::Gfx125x as usize + 1;
}

/// The tables that a decoder uses.
#[derive(Debug)]
pub(super) struct Tables {
    /// The encodings; the first match applies.
    pub(super) layouts: &'static [Layout],
    /// The encoding of operands.
    pub(super) features: &'static Features,
    /// For each value of the highest byte of the first dword, the first encoding that can match.
    pub(super) starts: [u8; 256],
    /// The places of the opcodes of each encoding.
    opcodes: Spans,
    /// The instructions of two parts.
    pub(super) pairs: &'static [Pair],
}

/// An instruction of two parts: the first has two dwords, and supplies operands to the second.
#[derive(Debug)]
pub(super) struct Pair {
    encoding: Encoding,
    /// The opcode of the first part.
    first: u16,
    /// The opcodes that can follow.
    second: &'static [u16],
    /// True if the first part is a valid instruction without the second.
    stands_alone: bool,
}

impl Pair {
    /// Returns true if an opcode completes the instruction.
    pub(super) fn is_completed_by(&self, opcode: u16) -> bool {
        self.second.contains(&opcode)
    }

    /// Returns true if the first part is a valid instruction without the second.
    pub(super) fn stands_alone(&self) -> bool {
        self.stands_alone
    }
}

impl Tables {
    /// Returns the tables of a family. `None` if it is older or newer than the tables.
    pub(super) const fn of_family(family: Family) -> Option<&'static Tables> {
        match family {
            Family::R600 | Family::Gfx6 | Family::Gfx7 | Family::Gfx8 => None,
            Family::Gfx9 | Family::Gfx908 => Some(&GFX9),
            Family::Gfx90a => Some(&GFX90A),
            Family::Gfx942 => Some(&GFX94X),
            Family::Gfx950 => Some(&GFX950),
            Family::Gfx10_1 | Family::Gfx10_3 => Some(&GFX10),
            Family::Gfx11 => Some(&GFX11),
            Family::Gfx12 => Some(&GFX12),
            Family::Gfx12_5 => Some(&GFX125X),
            Family::Gfx11_7 | Family::Gfx13 => None,
        }
    }

    /// Returns the encoding of an instruction that begins with this dword.
    pub(super) fn layout(&self, first: u32) -> Option<&'static Layout> {
        let [.., top] = first.to_le_bytes();
        let start = self.starts.get(usize::from(top))?;
        let mut rest = self.layouts.get(usize::from(*start)..)?.iter();
        rest.find(|layout| first.checked_shr(layout.shift.into()) == Some(layout.prefix))
    }

    /// Returns the row of an opcode.
    pub(super) fn row(&self, encoding: Encoding, opcode: u16) -> Option<&'static Row> {
        index::row(self.opcodes.get(encoding as usize)?, opcode)
    }

    /// Returns the instruction of two parts that begins with an opcode.
    pub(super) fn pair(&self, encoding: Encoding, first: u16) -> Option<&'static Pair> {
        let mut pairs = self.pairs.iter();
        pairs.find(|pair| pair.encoding == encoding && pair.first == first)
    }
}

/// gfx900 to gfx909, gfx90c.
pub(super) static GFX9: Tables = Tables {
    layouts: layout::GFX9,
    features: &features::GFX9,
    starts: layout::starts(layout::GFX9),
    opcodes: index::spans(Column::Gfx9),
    pairs: &[],
};
/// gfx90a.
pub(super) static GFX90A: Tables = Tables {
    layouts: layout::GFX9,
    features: &features::GFX90A,
    starts: layout::starts(layout::GFX9),
    opcodes: index::spans(Column::Gfx90a),
    pairs: &[],
};
/// gfx942 and gfx950.
pub(super) static GFX94X: Tables = Tables {
    layouts: layout::GFX9,
    features: &features::GFX942,
    starts: layout::starts(layout::GFX9),
    opcodes: index::spans(Column::Gfx942),
    pairs: &[],
};
/// gfx950.
pub(super) static GFX950: Tables = Tables {
    layouts: layout::GFX9,
    features: &features::GFX942,
    starts: layout::starts(layout::GFX9),
    opcodes: index::spans(Column::Gfx950),
    pairs: &[Pair {
        encoding: Encoding::Vop3,
        first: 0x3ac,
        second: &[0x3ad, 0x3ae],
        stands_alone: true,
    }],
};
/// gfx10.1 and gfx10.3.
pub(super) static GFX10: Tables = Tables {
    layouts: layout::GFX10,
    features: &features::GFX10,
    starts: layout::starts(layout::GFX10),
    opcodes: index::spans(Column::Gfx10),
    pairs: &[],
};
/// gfx11.
pub(super) static GFX11: Tables = Tables {
    layouts: layout::GFX11,
    features: &features::GFX11,
    starts: layout::starts(layout::GFX11),
    opcodes: index::spans(Column::Gfx11),
    pairs: &[],
};
/// gfx1200 and gfx1201.
pub(super) static GFX12: Tables = Tables {
    layouts: layout::GFX12,
    features: &features::GFX12,
    starts: layout::starts(layout::GFX12),
    opcodes: index::spans(Column::Gfx12),
    pairs: &[],
};
/// gfx1250 and gfx1251.
pub(super) static GFX125X: Tables = Tables {
    layouts: layout::GFX125X,
    features: &features::GFX12_5,
    starts: layout::starts(layout::GFX125X),
    opcodes: index::spans(Column::Gfx125x),
    pairs: &[
        Pair {
            encoding: Encoding::Vop3p,
            first: 0x35,
            second: &[0x33, 0x88],
            stands_alone: false,
        },
        Pair {
            encoding: Encoding::Vop3p,
            first: 0x3a,
            second: &[0x33, 0x88],
            stands_alone: false,
        },
    ],
};
