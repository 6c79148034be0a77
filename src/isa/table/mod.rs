//! The tables of encodings and opcodes: what the instructions of each generation write, and which of them
//! have an [`Effect`](super::Effect).
//!
//! Reading bits is left to `field`, meaning to `scalar`, `vector` and `memory`, printing to `print`. The files named after
//! processors are made by `dwarf-tests/tests/instruction_tables.rs`, which asks LLVM 22's disassembler for every opcode of
//! every encoding; what that does not say stands in a list beside it (`facts.rs`): which instructions change `scc`, `exec`
//! and `m0` besides what they name, and which have an effect.

mod features;
mod gfx10;
mod gfx11;
mod gfx12;
mod gfx125x;
mod gfx9;
mod layout;
#[cfg(test)]
mod tests;

use crate::arch::Family;

use super::effect::{Condition, ExecOp, ScalarOp};

pub(super) use features::{Features, ScalarLoad, ScratchAddress, WaitCounts};
pub(super) use layout::{Bits, Encoding, Layout};

/// What is known of an opcode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) opcode: u16,
    pub(super) shape: Shape,
    pub(super) flags: u8,
    pub(super) op: Op,
}

impl Row {
    pub(super) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The opcodes of one encoding, ascending, and their texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    rows: &'static [Row],
    /// A line for each row: the name as LLVM prints it, and its operands, see [`rows`]. One text instead of one for each
    /// row, as rows without a pointer are a third of the size, and only printing needs it.
    texts: &'static str,
}

/// It writes `scc`.
const SCC: u8 = 1;
/// It writes `exec`.
const EXEC: u8 = 2;
/// It writes `m0`.
const M0: u8 = 4;
/// The register it writes is chosen at run time.
const INDIRECT: u8 = 8;
/// A dword follows always.
const LITERAL: u8 = 16;
/// Two dwords follow always.
const LITERAL64: u8 = 32;

/// Its name is not the same on all processors of the table.
const UNNAMED: u8 = 64;

/// The flags of a row, for those who ask.
pub(super) mod flag {
    pub(in crate::isa) const SCC: u8 = super::SCC;
    pub(in crate::isa) const EXEC: u8 = super::EXEC;
    pub(in crate::isa) const M0: u8 = super::M0;
    pub(in crate::isa) const INDIRECT: u8 = super::INDIRECT;
    pub(in crate::isa) const LITERAL: u8 = super::LITERAL;
    pub(in crate::isa) const LITERAL64: u8 = super::LITERAL64;
    pub(in crate::isa) const UNNAMED: u8 = super::UNNAMED;
}

/// Which registers an instruction writes, and through which of its fields. Numbers count dwords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// None.
    None,
    /// Scalar registers, through the field of the destination.
    Scalar(u8),
    /// Scalar registers that get the old value, if that is asked for.
    ScalarAtomic(u8),
    /// Vector registers.
    Vector(u8),
    /// Vector registers: so many in a wave of 32 lanes, half as many in one of 64.
    VectorByWave(u8),
    /// The low or the high half of a vector register, which bit 7 of the field tells.
    Half,
    /// Accumulation registers.
    Acc(u8),
    /// Accumulation or vector registers, which a bit tells, or always the former (gfx908).
    Matrix(u8),
    /// Vector registers, and one bit for each lane to scalar ones.
    VectorAndMask(u8),
    /// One bit for each lane.
    Mask,
    /// One bit for each lane, to `exec` as well.
    MaskAndExec,
    /// The destination and the first source.
    Swap(u8),
    /// The destination and the first source, each half a register.
    SwapHalves,
    /// Registers loaded from memory.
    Load(u8),
    /// Registers loaded from memory: so many in a wave of 32 lanes, half as many in one of 64.
    LoadByWave(u8),
    /// Registers stored to memory: none are written.
    Store(u8),
    /// Registers that get the old value, if that is asked for.
    Atomic(u8),
    /// As many as the mask of an image instruction says.
    ImageLoad,
    /// Four, or two if they are packed.
    Gather,
    /// As many as the mask says, if that is asked for.
    ImageAtomic(u8),
    /// The result, and the stack's address.
    BvhStack(u8),
    /// Ten, and the ray's origin and direction.
    BvhDual,
}

/// Which effect a row's instructions have.
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
    AccRead,
    AccWrite,
    AccMove,
    ScalarLoad,
    /// Bytes of memory for each lane.
    Access(u8),
}

/// Rows, one a line: opcode, text, shape, what else is changed; and for those with an effect, which.
///
/// The text is the name as LLVM prints it (of FLAT without the part up to the first `_`; `?` if the
/// processors of the table have different ones), and for each operand the letter of its field (`d` destination, `a` `b` `c`
/// sources, `m` mask, `p` address, `s` `t` data, `e` `r` `o` scalar addresses), the register file if it is not that of the
/// encoding, how many registers it is (`w`: one bit for each lane), `h` if it is half of one, and what its constants are if
/// not those of 32 bits: `i` 16-bit integers, `x` 16-bit and `d` 64-bit floating-point numbers. `?` is an operand of
/// another kind, `k` a decimal and `kx` a hexadecimal immediate, `packed` says that halves of sources are chosen.
macro_rules! rows {
    ($($opcode:literal $text:literal: $shape:ident $(($n:literal))? $(, $($flag:ident)|+)?
       $(=> $op:ident $(($($argument:tt)+))?)?;)*) => {
        Rows {
            rows: &[$(Row {
                opcode: $opcode,
                shape: Shape::$shape $(($n))?,
                flags: 0 $($(| $flag)+)?,
                op: { let op = Op::Other; $(let _ = op; let op = Op::$op $(($($argument)+))?;)? op },
            },)*],
            texts: concat!($($text, "\n"),*),
        }
    };
}
use rows;

/// The table of one encoding.
pub(super) type Table = (Encoding, Rows);

/// Everything that is decoded by table.
#[derive(Debug)]
pub(super) struct Tables {
    /// How to tell the encodings apart: the first that fits.
    pub(super) layouts: &'static [Layout],
    /// What operands look like.
    pub(super) features: &'static Features,
    /// For each value of the highest byte of the first dword, the first of them that can fit.
    pub(super) starts: [u8; 256],
    /// The opcodes of each encoding, by its number: the first table that has one.
    pub(super) opcodes: [[Opcodes; 2]; Encoding::COUNT],
    /// Instructions of two parts.
    pub(super) pairs: &'static [Pair],
}

/// An instruction of two parts: the first, of two dwords, gives operands to the second.
#[derive(Debug)]
pub(super) struct Pair {
    encoding: Encoding,
    /// The opcode of the first part.
    first: u16,
    /// The opcodes that can follow.
    second: &'static [u16],
    /// Whether the first part is an instruction without the second.
    stands_alone: bool,
}

impl Pair {
    /// Whether an opcode completes it.
    pub(super) fn is_completed_by(&self, opcode: u16) -> bool {
        self.second.contains(&opcode)
    }

    /// Whether the first part is an instruction without the second.
    pub(super) fn stands_alone(&self) -> bool {
        self.stands_alone
    }
}

impl Tables {
    /// The tables of a family; nothing if there are none, as it is older or newer than they are.
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

    /// The encoding of an instruction that begins with this dword.
    pub(super) fn layout(&self, first: u32) -> Option<&'static Layout> {
        let [.., top] = first.to_le_bytes();
        let start = self.starts.get(usize::from(top))?;
        let mut rest = self.layouts.get(usize::from(*start)..)?.iter();
        rest.find(|layout| first.checked_shr(layout.shift.into()) == Some(layout.prefix))
    }

    /// The row of an opcode.
    pub(super) fn row(&self, encoding: Encoding, opcode: u16) -> Option<(&'static Row, Text)> {
        let tables = self.opcodes.get(encoding as usize)?;
        tables.iter().find_map(|table| table.row(opcode))
    }

    /// The instruction of two parts that begins with an opcode.
    pub(super) fn pair(&self, encoding: Encoding, first: u16) -> Option<&'static Pair> {
        let mut pairs = self.pairs.iter();
        pairs.find(|pair| pair.encoding == encoding && pair.first == first)
    }
}

/// Where the text of a row is. It is looked for when it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Text {
    texts: &'static str,
    line: u16,
}

impl Text {
    /// That of what has no row.
    pub(super) const NONE: Text = Text { texts: "", line: 0 };

    /// The name, and the operands.
    pub(super) fn parts(self) -> (&'static str, &'static str) {
        let line = self.texts.lines().nth(self.line.into()).unwrap_or("");
        line.split_once(' ').unwrap_or((line, ""))
    }
}

/// The opcodes of an encoding, to be looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opcodes {
    rows: Rows,
    /// For each sixteen opcodes, how many rows are before them, and a bit for each that has a row.
    groups: [(u16, u16); 64],
}

impl Opcodes {
    const NONE: Opcodes = Opcodes {
        rows: Rows {
            rows: &[],
            texts: "",
        },
        groups: [(0, 0); 64],
    };

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "evaluated by the compiler, which refuses what overflows"
    )]
    const fn new(rows: Rows) -> Opcodes {
        let mut groups = [(0, 0); 64];
        let mut slots: &mut [(u16, u16)] = &mut groups;
        let mut left = rows.rows;
        let (mut group, mut passed) = (0, 0);
        while let [slot, others @ ..] = slots {
            slot.0 = passed;
            while let [row, rest @ ..] = left
                && row.opcode / 16 == group
            {
                slot.1 |= 1 << (row.opcode % 16);
                left = rest;
                passed += 1;
            }
            slots = others;
            group += 1;
        }
        Opcodes { rows, groups }
    }

    fn row(&self, opcode: u16) -> Option<(&'static Row, Text)> {
        let (before, present) = *self.groups.get(usize::from(opcode / 16))?;
        let bit = 1u16 << (opcode % 16);
        if present & bit == 0 {
            return None;
        }
        let smaller = (present & bit.wrapping_sub(1)).count_ones();
        let line = before.checked_add(u16::try_from(smaller).ok()?)?;
        let row = self.rows.rows.get(usize::from(line))?;
        let texts = self.rows.texts;
        Some((row, Text { texts, line }))
    }
}

/// The tables of each encoding, out of lists of which the first goes before the second.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "evaluated by the compiler, which refuses what overflows"
)]
const fn by_encoding(lists: &[&'static [Table]]) -> [[Opcodes; 2]; Encoding::COUNT] {
    let mut all = [[Opcodes::NONE; 2]; Encoding::COUNT];
    let mut slots: &mut [[Opcodes; 2]] = &mut all;
    let mut encoding = 0;
    while let [[first, second], rest @ ..] = slots {
        let mut lists = lists;
        while let [list, others @ ..] = lists {
            let mut left: &[Table] = list;
            while let [(of, rows), more @ ..] = left {
                if *of as usize == encoding && first.rows.rows.is_empty() {
                    *first = Opcodes::new(*rows);
                } else if *of as usize == encoding {
                    assert!(second.rows.rows.is_empty(), "there is room for two");
                    *second = Opcodes::new(*rows);
                }
                left = more;
            }
            lists = others;
        }
        slots = rest;
        encoding += 1;
    }
    all
}

/// gfx900 to gfx909, gfx90c.
pub(super) static GFX9: Tables = Tables {
    layouts: layout::GFX9,
    features: &features::GFX9,
    starts: layout::starts(layout::GFX9),
    opcodes: by_encoding(&[gfx9::OPCODES]),
    pairs: &[],
};
/// gfx90a.
pub(super) static GFX90A: Tables = Tables {
    layouts: layout::GFX9,
    features: &features::GFX90A,
    starts: layout::starts(layout::GFX9),
    opcodes: by_encoding(&[gfx9::GFX90A, gfx9::OPCODES]),
    pairs: &[],
};
/// gfx942 and gfx950.
pub(super) static GFX94X: Tables = Tables {
    layouts: layout::GFX9,
    features: &features::GFX942,
    starts: layout::starts(layout::GFX9),
    opcodes: by_encoding(&[gfx9::GFX942, gfx9::OPCODES]),
    pairs: &[],
};
/// gfx950.
pub(super) static GFX950: Tables = Tables {
    layouts: layout::GFX9,
    features: &features::GFX942,
    starts: layout::starts(layout::GFX9),
    opcodes: by_encoding(&[gfx9::GFX950, gfx9::OPCODES]),
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
    opcodes: by_encoding(&[gfx10::OPCODES]),
    pairs: &[],
};
/// gfx11.
pub(super) static GFX11: Tables = Tables {
    layouts: layout::GFX11,
    features: &features::GFX11,
    starts: layout::starts(layout::GFX11),
    opcodes: by_encoding(&[gfx11::OPCODES]),
    pairs: &[],
};
/// gfx1200 and gfx1201.
pub(super) static GFX12: Tables = Tables {
    layouts: layout::GFX12,
    features: &features::GFX12,
    starts: layout::starts(layout::GFX12),
    opcodes: by_encoding(&[gfx12::OPCODES]),
    pairs: &[],
};
/// gfx1250 and gfx1251.
pub(super) static GFX125X: Tables = Tables {
    layouts: layout::GFX125X,
    features: &features::GFX12_5,
    starts: layout::starts(layout::GFX125X),
    opcodes: by_encoding(&[gfx125x::OPCODES]),
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
