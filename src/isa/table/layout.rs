//! The encodings of each generation: their prefixes, lengths and opcode fields.
//!
//! Extra dwords (literals, DPP, further addresses) are left to `length`. Source: AMD's instruction set architecture documents, "Microcode
//! Formats".

/// The encodings, with AMD's names; formats that replaced earlier ones have their own names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::isa) enum Encoding {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    Vopd,
    Vopd3,
    Vintrp,
    Vinterp,
    Ldsdir,
    Ds,
    /// FLAT, SCRATCH and GLOBAL, which two bits distinguish.
    Flat,
    Mubuf,
    Mtbuf,
    Vbuffer,
    Mimg,
    Vimage,
    Vsample,
    Exp,
}

impl Encoding {
    /// The number of encodings.
    pub(in crate::isa) const COUNT: usize = Encoding::Exp as usize + 1;
}

/// A field: the number of its dword, its lowest bit and its width in bits.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa) struct Bits(
    pub(in crate::isa) u8,
    pub(in crate::isa) u8,
    pub(in crate::isa) u8,
);

/// One encoding of one generation.
#[derive(Clone, Copy, Debug)]
pub(in crate::isa) struct Layout {
    /// The lowest bit of the prefix.
    pub(in crate::isa) shift: u8,
    /// The prefix: the bits from there to the top of the first dword.
    pub(in crate::isa) prefix: u32,
    pub(in crate::isa) encoding: Encoding,
    /// The number of dwords, without the extra ones.
    pub(in crate::isa) dwords: u8,
    /// The parts of the opcode, the lowest first.
    pub(in crate::isa) opcode: &'static [Bits],
}

impl Layout {
    /// Returns true if the highest byte of the first dword can be this one.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "the smaller number is taken from the larger"
    )]
    const fn can_begin_with(&self, top: u32) -> bool {
        if self.shift < 24 {
            self.prefix >> (24 - self.shift) == top
        } else {
            top >> (self.shift - 24) == self.prefix
        }
    }
}

/// For each value of the highest byte of an instruction, the first layout that it can have.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "evaluated by the compiler, which refuses what overflows"
)]
pub(super) const fn starts(layouts: &[Layout]) -> [u8; 256] {
    let mut starts = [0; 256];
    let mut slots: &mut [u8] = &mut starts;
    let mut top = 0;
    while let [slot, rest @ ..] = slots {
        let mut left = layouts;
        while let [layout, others @ ..] = left
            && !layout.can_begin_with(top)
        {
            left = others;
            *slot += 1;
        }
        slots = rest;
        top += 1;
    }
    starts
}

/// Returns the encodings that every generation has, followed by its own.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses lengths that do not fit"
)]
const fn joined<const COUNT: usize>(own: &[Layout]) -> [Layout; COUNT] {
    let mut all = [COMMON[0]; COUNT];
    let (first, rest) = all.split_at_mut(COMMON.len());
    first.copy_from_slice(COMMON);
    rest.copy_from_slice(own);
    all
}

macro_rules! layouts {
    ($common:ident $common_rows:tt $($generation:ident $rows:tt)*) => {
        const $common: &[Layout] = layouts!(@ $common_rows);
        $(pub(super) const $generation: &[Layout] = {
            const OWN: &[Layout] = layouts!(@ $rows);
            &joined::<{ $common.len() + OWN.len() }>(OWN)
        };)*
    };
    (@ { $($shift:literal $prefix:literal $encoding:ident $dwords:literal
       [$($word:literal $low:literal $width:literal),*];)* }) => {
        &[$(Layout {
            shift: $shift,
            prefix: $prefix,
            encoding: Encoding::$encoding,
            dwords: $dwords,
            opcode: &[$(Bits($word, $low, $width)),*],
        },)*]
    };
}

// Each line: the lowest bit of the prefix, the prefix, the encoding, dwords, fields of the opcode.
#[rustfmt::skip]
layouts! {
    COMMON {
        23 0b1_0111_1101 Sop1   1 [0 8 8];
        23 0b1_0111_1110 Sopc   1 [0 16 7];
        23 0b1_0111_1111 Sopp   1 [0 16 7];
        28 0b1011        Sopk   1 [0 23 5];
        30 0b10          Sop2   1 [0 23 7];
        25 0b011_1111    Vop1   1 [0 9 8];
        25 0b011_1110    Vopc   1 [0 17 8];
        31 0b0           Vop2   1 [0 25 6];
    }
    GFX9 {
        26 0b11_0000     Smem   2 [0 18 8];
        26 0b11_0001     Exp    2 [];
        26 0b11_0100     Vop3   2 [0 16 10];
        26 0b11_0101     Vintrp 1 [0 16 2];
        26 0b11_0110     Ds     2 [0 17 8];
        26 0b11_0111     Flat   2 [0 18 7];
        26 0b11_1000     Mubuf  2 [0 18 8];
        26 0b11_1010     Mtbuf  2 [0 15 4];
        26 0b11_1100     Mimg   2 [0 18 7, 0 0 1];
    }
    GFX10 {
        26 0b11_0010     Vintrp 1 [0 16 2];
        24 0b1100_1100   Vop3p  2 [0 16 8];
        26 0b11_0101     Vop3   2 [0 16 10];
        26 0b11_0110     Ds     2 [0 18 8];
        26 0b11_0111     Flat   2 [0 18 7];
        26 0b11_1000     Mubuf  2 [0 18 8];
        26 0b11_1010     Mtbuf  2 [0 16 3, 1 21 1];
        26 0b11_1100     Mimg   2 [0 18 7, 0 0 1];
        26 0b11_1101     Smem   2 [0 18 8];
        26 0b11_1110     Exp    2 [];
    }
    GFX11 {
        26 0b11_0010     Vopd    2 [];
        24 0b1100_1100   Vop3p   2 [0 16 8];
        24 0b1100_1101   Vinterp 2 [0 16 8];
        24 0b1100_1110   Ldsdir  1 [0 20 4];
        26 0b11_0101     Vop3    2 [0 16 10];
        26 0b11_0110     Ds      2 [0 18 8];
        26 0b11_0111     Flat    2 [0 18 7];
        26 0b11_1000     Mubuf   2 [0 18 8];
        26 0b11_1010     Mtbuf   2 [0 15 4];
        26 0b11_1100     Mimg    2 [0 18 8];
        26 0b11_1101     Smem    2 [0 18 8];
        26 0b11_1110     Exp     2 [];
    }
    GFX12 {
        26 0b11_0001     Vbuffer 3 [0 14 8];
        26 0b11_0010     Vopd    2 [];
        24 0b1100_1100   Vop3p   2 [0 16 8];
        24 0b1100_1101   Vinterp 2 [0 16 8];
        24 0b1100_1110   Ldsdir  1 [0 20 4];
        26 0b11_0100     Vimage  3 [0 14 8];
        26 0b11_0101     Vop3    2 [0 16 10];
        26 0b11_0110     Ds      2 [0 18 8];
        26 0b11_1001     Vsample 3 [0 14 8];
        26 0b11_1011     Flat    3 [0 14 8];
        26 0b11_1101     Smem    2 [0 13 6];
        26 0b11_1110     Exp     2 [];
    }
    GFX125X {
        26 0b11_0001     Vbuffer 3 [0 14 8];
        26 0b11_0010     Vopd    2 [];
        24 0b1100_1100   Vop3p   2 [0 16 8];
        24 0b1100_1111   Vopd3   3 [];
        26 0b11_0100     Vimage  3 [0 14 8];
        26 0b11_0101     Vop3    2 [0 16 10];
        26 0b11_0110     Ds      2 [0 18 8];
        26 0b11_1011     Flat    3 [0 14 8];
        26 0b11_1101     Smem    2 [0 13 6];
    }
}
