//! Lists the vocabulary of operation expressions: every operation, once.
//!
//! A row gives the name, the codes in each dialect, the operands, the stack effect, the first version, whether call frame information may use it, and
//! the section of the specification. Everything else in [`expr`](super) is generated from these rows. The semantics of operations is in `eval`.
//!
//! Sources: DWARF 5 §7.7.1, HET A.7.7.1, and for the older codes `spec-notes/encodings.md`.

use super::cursor::Cursor;
use super::operand::{OperandKind, OperandValue};
use super::{Dialect, Encoding, PrivateCodes};
use crate::error::Result;
use core::ops::DerefMut;
use smallvec::SmallVec;

/// The effect of an operation on the depth of the stack.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackEffect {
    /// Fixed numbers of entries taken and left.
    Fixed {
        /// The number of entries taken or inspected.
        pops: u8,
        /// The number of entries left in their place.
        pushes: u8,
    },
    /// Depends on the entries (`DW_OP_piece`) or on the called expression.
    Varies,
}

/// The first text with an operation.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Since {
    /// DWARF 2.
    Dwarf2,
    /// DWARF 3.
    Dwarf3,
    /// DWARF 4.
    Dwarf4,
    /// DWARF 5.
    Dwarf5,
    /// DWARF Extensions For Heterogeneous Debugging.
    Het,
    /// The accepted proposals for DWARF 6.
    Dwarf6,
}

/// The codes of an operation, with `None` for a dialect without one.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codes {
    /// DWARF 5's code, of one byte, or the first code of a family such as `DW_OP_lit0`.
    pub std: Option<u8>,
    /// The code of GNU's spelling before DWARF 5.
    pub gnu: Option<u8>,
    /// The vendor code after `DW_OP_LLVM_user`.
    pub user: Option<u8>,
    /// The code of one byte of 2020 to 2022.
    pub one: Option<u8>,
    /// The code of the first draft.
    pub draft: Option<u8>,
}

/// A row of the table.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The opcode.
    pub opcode: Opcode,
    /// The name, without the number for a family.
    pub name: &'static str,
    /// The error message if a dialect has no code for it.
    pub(super) no_code: &'static str,
    /// The codes.
    pub codes: Codes,
    /// The number of operations in the family; 1 for all others.
    pub family: u8,
    /// The operands, in order.
    pub operands: &'static [OperandKind],
    /// The effect on the depth of the stack.
    pub effect: StackEffect,
    /// The first text with it.
    pub since: Since,
    /// True if call frame information may use it (HET A.6.4.2).
    pub in_cfi: bool,
    /// The section of the specification.
    pub spec: &'static str,
    /// A short description.
    pub what: &'static str,
}

macro_rules! effect {
    (varies) => {
        StackEffect::Varies
    };
    ($pops:literal -> $pushes:literal) => {
        StackEffect::Fixed {
            pops: $pops,
            pushes: $pushes,
        }
    };
}

macro_rules! allowed {
    (cfi) => {
        true
    };
    (-) => {
        false
    };
}

macro_rules! family {
    () => {
        1
    };
    ($n:literal) => {
        $n
    };
}

/// The Rust type of an operand of a kind.
macro_rules! value_type {
    (Member) => { u8 };
    (U8) => { u8 };
    (U16) => { u16 };
    (U32) => { u32 };
    (S8) => { i8 };
    (S16) => { i16 };
    (S32) => { i32 };
    (S64) => { i64 };
    (Sleb) => { i64 };
    (WideSleb) => { i64 };
    (Displacement) => { i64 };
    (Branch) => { i16 };
    (Block1) => { &'a [u8] };
    (Block) => { &'a [u8] };
    (Expression) => { &'a [u8] };
    ($other:ident) => { u64 };
}

macro_rules! operations {
    ($(
        $opcode:ident $(* $family:literal)? $name:literal { $($dialect:ident $code:literal)* }
        $(( $($field:ident : $kind:ident),+ ))?
        [$($effect:tt)*] $since:ident $cfi:tt $spec:literal $what:literal;
    )*) => {
        /// An operation without its operands.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = concat!("`", $name, "`: ", $what, ". Source: ", $spec, ".")] $opcode,)*
        }

        /// An operation with its operands.
        ///
        /// Blocks borrow from the decoded bytes. A family such as `DW_OP_lit0` … `DW_OP_lit31` is one variant, whose first field is the number.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the fields' names and the standard say it all")]
        pub enum Operation<'a> {
            $(
                #[doc = concat!("`", $name, "`: ", $what, ". Source: ", $spec, ".")]
                $opcode $({ $($field: value_type!($kind)),+ })?,
            )*
        }

        /// Every operation, in the order of the specification.
        pub const ROWS: &[Row] = &[$(
            Row {
                opcode: Opcode::$opcode,
                name: $name,
                no_code: concat!($name, " has no code in this dialect"),
                #[allow(clippy::needless_update, reason = "rows with all codes are possible")]
                codes: Codes { $($dialect: Some($code),)* ..NO_CODES },
                family: family!($($family)?),
                operands: &[$($(OperandKind::$kind),+)?],
                effect: effect!($($effect)*),
                since: Since::$since,
                in_cfi: allowed!($cfi),
                spec: $spec,
                what: $what,
            },
        )*];

        impl<'a> Operation<'a> {
            /// Returns the operation without its operands.
            #[must_use]
            pub const fn opcode(&self) -> Opcode {
                match self { $(Operation::$opcode $({ $($field: _),+ })? => Opcode::$opcode,)* }
            }

            /// Returns the operands, in the order of the encoding.
            #[must_use]
            pub fn operands(&self) -> impl DerefMut<Target = [OperandValue<'a>]> + IntoIterator<Item = OperandValue<'a>> + use<'a> {
                match *self {
                    $(Operation::$opcode $({ $($field),+ })? => {
                        SmallVec::<[_; 3]>::from_slice(&[$($(OperandValue::from($field)),+)?])
                    })*
                }
            }

            /// Creates an operation from its operands. Returns `None` if their number or range does not fit `opcode`.
            #[must_use]
            pub fn from_operands(opcode: Opcode, operands: &[OperandValue<'a>]) -> Option<Operation<'a>> {
                let mut operands = operands.iter();
                let operation = match opcode {
                    $(Opcode::$opcode => Operation::$opcode $({
                        $($field: operands.next().copied()?.try_into().ok()?),+
                    })?,)*
                };
                operands.next().is_none().then_some(operation)
            }

            /// Reads the operands of `opcode`, whose first byte is `code`.
            #[inline(always)]
            pub(super) fn read(
                opcode: Opcode,
                code: u8,
                cursor: &mut Cursor<'a>,
                encoding: &Encoding,
            ) -> Result<Operation<'a>> {
                Ok(match opcode {
                    $(Opcode::$opcode => {
                        $(let ($($field,)+) = read::$opcode(code, cursor, encoding)?;)?
                        Operation::$opcode $({ $($field),+ })?
                    })*
                })
            }
        }

        /// The number of each operation in the table, for matching with a single jump.
        #[expect(non_upper_case_globals, reason = "named as the operations are")]
        pub(crate) mod number {
            $(pub(crate) const $opcode: u8 = super::Opcode::$opcode as u8;)*
        }

        /// For each operation with operands, a function that reads them in the order of the encoding. `code` is the operation's first byte, which
        /// contains the number within a family.
        #[expect(non_snake_case, reason = "named as the operations are")]
        pub(crate) mod read {
            use super::{Cursor, Encoding, Opcode, Result, first_code};

            $($(
                #[inline(always)]
                pub(crate) fn $opcode<'a>(
                    code: u8,
                    cursor: &mut Cursor<'a>,
                    encoding: &Encoding,
                ) -> Result<($(value_type!($kind),)+)> {
                    let member = code.wrapping_sub(const { first_code(Opcode::$opcode) });
                    let _ = (member, &cursor, encoding);
                    Ok(($(read_operand!($kind, cursor, encoding, member),)+))
                }
            )?)*
        }
    };
}

/// Reads one operand; the inverse of `Encoder::operand`.
macro_rules! read_operand {
    (Member, $cursor:ident, $encoding:ident, $member:ident) => {
        $member
    };
    (U8, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.u8()?
    };
    (U16, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.u16()?
    };
    (U32, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.u32()?
    };
    (U64, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.u64()?
    };
    (S8, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.u8()?.cast_signed()
    };
    (S16, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.u16()?.cast_signed()
    };
    (Branch, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.u16()?.cast_signed()
    };
    (S32, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.u32()?.cast_signed()
    };
    (S64, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.u64()?.cast_signed()
    };
    (WideUleb, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.uleb_truncated()?
    };
    (WideSleb, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.sleb_truncated()?
    };
    (Sleb, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.sleb()?
    };
    (Displacement, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.sleb()?
    };
    (Address, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.sized($encoding.address_size)?
    };
    (SectionReference, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.sized($encoding.offset_size)?
    };
    (Block1, $cursor:ident, $encoding:ident, $member:ident) => {{
        let size = $cursor.u8()?;
        $cursor.bytes(size.into())?
    }};
    (Block, $cursor:ident, $encoding:ident, $member:ident) => {{
        let size = $cursor.uleb()?;
        $cursor.bytes(size)?
    }};
    (Expression, $cursor:ident, $encoding:ident, $member:ident) => {{
        let size = $cursor.uleb()?;
        $cursor.bytes(size)?
    }};
    ($uleb:ident, $cursor:ident, $encoding:ident, $member:ident) => {
        $cursor.uleb()?
    };
}

const NO_CODES: Codes = Codes {
    std: None,
    gnu: None,
    user: None,
    one: None,
    draft: None,
};

#[rustfmt::skip]
operations! {
    // opcode        name                                 codes                        operands                                      stack     since
    // in CFI  source  effect
    Addr             "DW_OP_addr"                         { std 0x03 }                 (address: Address)                            [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.4.3"   "pushes the location of an address of the default space";
    Deref            "DW_OP_deref"                        { std 0x06 }                                                               [1 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.4"   "reads a value of the generic type";
    Const1u          "DW_OP_const1u"                      { std 0x08 }                 (value: U8)                                   [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a constant of one byte";
    Const1s          "DW_OP_const1s"                      { std 0x09 }                 (value: S8)                                   [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a signed constant of one byte";
    Const2u          "DW_OP_const2u"                      { std 0x0a }                 (value: U16)                                  [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a constant of two bytes";
    Const2s          "DW_OP_const2s"                      { std 0x0b }                 (value: S16)                                  [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a signed constant of two bytes";
    Const4u          "DW_OP_const4u"                      { std 0x0c }                 (value: U32)                                  [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a constant of four bytes";
    Const4s          "DW_OP_const4s"                      { std 0x0d }                 (value: S32)                                  [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a signed constant of four bytes";
    Const8u          "DW_OP_const8u"                      { std 0x0e }                 (value: U64)                                  [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a constant of eight bytes";
    Const8s          "DW_OP_const8s"                      { std 0x0f }                 (value: S64)                                  [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a signed constant of eight bytes";
    Constu           "DW_OP_constu"                       { std 0x10 }                 (value: WideUleb)                             [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a constant";
    Consts           "DW_OP_consts"                       { std 0x11 }                 (value: WideSleb)                             [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a signed constant";
    Dup              "DW_OP_dup"                          { std 0x12 }                                                               [1 -> 2]  Dwarf2 cfi "HET A.2.5.4.1"     "copies the top entry";
    Drop             "DW_OP_drop"                         { std 0x13 }                                                               [1 -> 0]  Dwarf2 cfi "HET A.2.5.4.1"     "removes the top entry";
    Over             "DW_OP_over"                         { std 0x14 }                                                               [2 -> 3]  Dwarf2 cfi "HET A.2.5.4.1"     "copies the second entry";
    Pick             "DW_OP_pick"                         { std 0x15 }                 (index: U8)                                   [varies]  Dwarf2 cfi "HET A.2.5.4.1"     "copies the entry with an index";
    Swap             "DW_OP_swap"                         { std 0x16 }                                                               [2 -> 2]  Dwarf2 cfi "HET A.2.5.4.1"     "swaps the top two entries";
    Rot              "DW_OP_rot"                          { std 0x17 }                                                               [3 -> 3]  Dwarf2 cfi "HET A.2.5.4.1"     "moves the top entry below the next two";
    Xderef           "DW_OP_xderef"                       { std 0x18 }                                                               [2 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.4"   "reads a value of the generic type in an address space";
    Abs              "DW_OP_abs"                          { std 0x19 }                                                               [1 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "takes the absolute value";
    And              "DW_OP_and"                          { std 0x1a }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "combines two values bit by bit with and";
    Div              "DW_OP_div"                          { std 0x1b }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "divides the second entry by the top, signed";
    Minus            "DW_OP_minus"                        { std 0x1c }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "subtracts the top from the second entry";
    Mod              "DW_OP_mod"                          { std 0x1d }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "takes the remainder of the second entry by the top";
    Mul              "DW_OP_mul"                          { std 0x1e }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "multiplies two values";
    Neg              "DW_OP_neg"                          { std 0x1f }                                                               [1 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "negates a value";
    Not              "DW_OP_not"                          { std 0x20 }                                                               [1 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "inverts every bit";
    Or               "DW_OP_or"                           { std 0x21 }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "combines two values bit by bit with or";
    Plus             "DW_OP_plus"                         { std 0x22 }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "adds two values";
    PlusUconst       "DW_OP_plus_uconst"                  { std 0x23 }                 (value: WideUleb)                             [1 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "adds a constant";
    Shl              "DW_OP_shl"                          { std 0x24 }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "shifts left";
    Shr              "DW_OP_shr"                          { std 0x25 }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "shifts right, filling with zero";
    Shra             "DW_OP_shra"                         { std 0x26 }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "shifts right, filling with the sign";
    Xor              "DW_OP_xor"                          { std 0x27 }                                                               [2 -> 1]  Dwarf2 cfi "DWARF 5 §2.5.1.4"  "combines two values bit by bit with exclusive or";
    Bra              "DW_OP_bra"                          { std 0x28 }                 (distance: Branch)                            [1 -> 0]  Dwarf2 cfi "HET A.2.5.4.2"     "branches unless the top entry is zero";
    Eq               "DW_OP_eq"                           { std 0x29 }                                                               [2 -> 1]  Dwarf2 cfi "HET A.2.5.4.2"     "tests whether two values are equal";
    Ge               "DW_OP_ge"                           { std 0x2a }                                                               [2 -> 1]  Dwarf2 cfi "HET A.2.5.4.2"     "tests whether the second entry is at least the top";
    Gt               "DW_OP_gt"                           { std 0x2b }                                                               [2 -> 1]  Dwarf2 cfi "HET A.2.5.4.2"     "tests whether the second entry is greater than the top";
    Le               "DW_OP_le"                           { std 0x2c }                                                               [2 -> 1]  Dwarf2 cfi "HET A.2.5.4.2"     "tests whether the second entry is at most the top";
    Lt               "DW_OP_lt"                           { std 0x2d }                                                               [2 -> 1]  Dwarf2 cfi "HET A.2.5.4.2"     "tests whether the second entry is less than the top";
    Ne               "DW_OP_ne"                           { std 0x2e }                                                               [2 -> 1]  Dwarf2 cfi "HET A.2.5.4.2"     "tests whether two values differ";
    Skip             "DW_OP_skip"                         { std 0x2f }                 (distance: Branch)                            [0 -> 0]  Dwarf2 cfi "HET A.2.5.4.2"     "branches";
    Lit * 32         "DW_OP_lit"                          { std 0x30 }                 (value: Member)                               [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.1"   "pushes a constant from 0 to 31";
    Reg * 32         "DW_OP_reg"                          { std 0x50 }                 (register: Member)                            [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.4.4"   "pushes the location of a register";
    Breg * 32        "DW_OP_breg"                         { std 0x70 }                 (register: Member, offset: Displacement)      [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.4.3"   "pushes the memory location at a register plus an offset";
    Regx             "DW_OP_regx"                         { std 0x90 }                 (register: Register)                          [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.4.4"   "pushes the location of a register";
    Fbreg            "DW_OP_fbreg"                        { std 0x91 }                 (offset: Sleb)                                [0 -> 1]  Dwarf2 -   "HET A.2.5.4.4.3"   "pushes the location at the frame base plus an offset";
    Bregx            "DW_OP_bregx"                        { std 0x92 }                 (register: Register, offset: Displacement)    [0 -> 1]  Dwarf2 cfi "HET A.2.5.4.4.3"   "pushes the memory location at a register plus an offset";
    Piece            "DW_OP_piece"                        { std 0x93 }                 (byte_size: Uleb)                             [varies]  Dwarf2 cfi "HET A.2.5.4.4.6"   "adds a part of whole bytes to a composite";
    DerefSize        "DW_OP_deref_size"                   { std 0x94 }                 (byte_size: U8)                               [1 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.4"   "reads a value of some bytes";
    XderefSize       "DW_OP_xderef_size"                  { std 0x95 }                 (byte_size: U8)                               [2 -> 1]  Dwarf2 cfi "HET A.2.5.4.3.4"   "reads a value of some bytes in an address space";
    Nop              "DW_OP_nop"                          { std 0x96 }                                                               [0 -> 0]  Dwarf2 cfi "HET A.2.5.4.2"     "does nothing";
    PushObjectAddress "DW_OP_push_object_address"         { std 0x97 }                                                               [0 -> 1]  Dwarf3 -   "HET A.2.5.4.4.1"   "pushes the location of the current object";
    Call2            "DW_OP_call2"                        { std 0x98 }                 (entry: U16)                                  [varies]  Dwarf3 -   "HET A.2.5.4.2"     "evaluates the location of another entry of the unit";
    Call4            "DW_OP_call4"                        { std 0x99 }                 (entry: U32)                                  [varies]  Dwarf3 -   "HET A.2.5.4.2"     "evaluates the location of another entry of the unit";
    CallRef          "DW_OP_call_ref"                     { std 0x9a }                 (entry: SectionReference)                     [varies]  Dwarf3 -   "HET A.2.5.4.2"     "evaluates the location of another entry";
    FormTlsAddress   "DW_OP_form_tls_address"             { std 0x9b gnu 0xe0 }                                                      [1 -> 1]  Dwarf3 cfi "HET A.2.5.4.4.3"   "makes a location of an offset into thread-local storage";
    CallFrameCfa     "DW_OP_call_frame_cfa"               { std 0x9c }                                                               [0 -> 1]  Dwarf3 -   "HET A.2.5.4.4.3"   "pushes the canonical frame address";
    BitPiece         "DW_OP_bit_piece"                    { std 0x9d }                 (bit_size: Uleb, bit_offset: Uleb)            [varies]  Dwarf3 cfi "HET A.2.5.4.4.6"   "adds a part of some bits to a composite";
    ImplicitValue    "DW_OP_implicit_value"               { std 0x9e }                 (bytes: Block)                                [0 -> 1]  Dwarf4 cfi "HET A.2.5.4.4.5"   "pushes the location of a constant of any size";
    StackValue       "DW_OP_stack_value"                  { std 0x9f }                                                               [1 -> 1]  Dwarf4 cfi "HET A.2.5.4.4.5"   "makes a location that holds the value on the stack";
    ImplicitPointer  "DW_OP_implicit_pointer"             { std 0xa0 gnu 0xf2 }        (entry: SectionReference, offset: Sleb)       [0 -> 1]  Dwarf5 -   "HET A.2.5.4.4.5"   "pushes the location of a pointer that was optimized away";
    Addrx            "DW_OP_addrx"                        { std 0xa1 gnu 0xfb }        (index: Uleb)                                 [0 -> 1]  Dwarf5 -   "HET A.2.5.4.4.3"   "pushes the location of an address in .debug_addr";
    Constx           "DW_OP_constx"                       { std 0xa2 gnu 0xfc }        (index: Uleb)                                 [0 -> 1]  Dwarf5 -   "HET A.2.5.4.3.1"   "pushes a constant in .debug_addr";
    EntryValue       "DW_OP_entry_value"                  { std 0xa3 gnu 0xf3 }        (expression: Expression)                      [0 -> 1]  Dwarf5 -   "HET A.2.5.4.3.4"   "evaluates an expression as on entry to the subprogram";
    ConstType        "DW_OP_const_type"                   { std 0xa4 gnu 0xf4 }        (base_type: BaseType, bytes: Block1)          [0 -> 1]  Dwarf5 -   "HET A.2.5.4.3.1"   "pushes a constant of a base type";
    RegvalType       "DW_OP_regval_type"                  { std 0xa5 gnu 0xf5 }        (register: Register, base_type: BaseType)     [0 -> 1]  Dwarf5 -   "HET A.2.5.4.3.4"   "reads a register as a base type";
    DerefType        "DW_OP_deref_type"                   { std 0xa6 gnu 0xf6 }        (byte_size: U8, base_type: BaseType)          [1 -> 1]  Dwarf5 -   "HET A.2.5.4.3.4"   "reads a value of a base type";
    XderefType       "DW_OP_xderef_type"                  { std 0xa7 }                 (byte_size: U8, base_type: BaseType)          [2 -> 1]  Dwarf5 -   "HET A.2.5.4.3.4"   "reads a value of a base type in an address space";
    Convert          "DW_OP_convert"                      { std 0xa8 gnu 0xf7 }        (base_type: BaseType)                         [1 -> 1]  Dwarf5 -   "DWARF 5 §2.5.1.6"  "converts a value to a base type";
    Reinterpret      "DW_OP_reinterpret"                  { std 0xa9 gnu 0xf9 }        (base_type: BaseType)                         [1 -> 1]  Dwarf5 -   "DWARF 5 §2.5.1.6"  "takes the bits of a value as a base type";
    GnuUninit        "DW_OP_GNU_uninit"                   { std 0xf0 }                                                               [0 -> 0]  Dwarf4 cfi "GCC -fvar-tracking-uninit" "marks the object as possibly uninitialized";
    GnuParameterRef  "DW_OP_GNU_parameter_ref"            { std 0xfa }                 (entry: U32)                                  [0 -> 1]  Dwarf4 -   "GCC include/dwarf2.def"     "pushes the value at the call site of a parameter that was removed from the function";
    GnuVariableValue "DW_OP_GNU_variable_value"           { std 0xfd }                 (entry: SectionReference)                     [0 -> 1]  Dwarf5 -   "GCC include/dwarf2.def"     "pushes the value of a variable";
    LlvmNop          "DW_OP_LLVM_nop"                     { user 0x01 }                                                              [0 -> 0]  Het    cfi "HET A.2.5.4.0"     "does nothing";
    FormAspaceAddress "DW_OP_LLVM_form_aspace_address"    { user 0x02 one 0xe1 draft 0xe7 }                                          [2 -> 1]  Het    cfi "HET A.2.5.4.4.3"   "makes a memory location of an address and an address space";
    PushLane         "DW_OP_LLVM_push_lane"               { user 0x03 one 0xe2 draft 0xea }                                          [0 -> 1]  Het    -   "HET A.2.5.4.3.1"   "pushes the lane in focus";
    Offset           "DW_OP_LLVM_offset"                  { user 0x04 one 0xe3 draft 0xe9 }                                          [2 -> 1]  Het    cfi "HET A.2.5.4.4.1"   "moves a location by whole bytes";
    OffsetUconst     "DW_OP_LLVM_offset_uconst"           { user 0x05 one 0xe4 }       (byte_offset: Uleb)                           [1 -> 1]  Het    cfi "HET A.2.5.4.4.1"   "moves a location by a constant number of bytes";
    BitOffset        "DW_OP_LLVM_bit_offset"              { user 0x06 one 0xe5 }                                                     [2 -> 1]  Het    cfi "HET A.2.5.4.4.1"   "moves a location by bits";
    CallFrameEntryReg "DW_OP_LLVM_call_frame_entry_reg"   { user 0x07 one 0xe6 }       (register: Register)                          [0 -> 1]  Het    cfi "HET A.2.5.4.4.1"   "pushes the location of a register as it was on entry to the subprogram";
    Undefined        "DW_OP_LLVM_undefined"               { user 0x08 one 0xe7 }                                                     [0 -> 1]  Het    cfi "HET A.2.5.4.4.2"   "pushes the undefined location";
    AspaceBregx      "DW_OP_LLVM_aspace_bregx"            { user 0x09 one 0xe8 }       (register: Register, offset: Displacement)    [1 -> 1]  Het    cfi "HET A.2.5.4.4.3"   "makes a memory location at a register plus an offset in an address space";
    PieceEnd         "DW_OP_LLVM_piece_end"               { user 0x0a one 0xea }                                                     [1 -> 1]  Het    cfi "HET A.2.5.4.4.6"   "completes a composite";
    Extend           "DW_OP_LLVM_extend"                  { user 0x0b one 0xeb }       (bit_size: Uleb, count: Uleb)                 [1 -> 1]  Het    cfi "HET A.2.5.4.4.6"   "repeats a location as the elements of a vector";
    SelectBitPiece   "DW_OP_LLVM_select_bit_piece"        { user 0x0c one 0xec }       (bit_size: Uleb, count: Uleb)                 [3 -> 1]  Het    cfi "HET A.2.5.4.4.6"   "takes each element of a vector from one of two locations by a mask";
    NvidiaMux        "DW_OP_LLVM_NVIDIA_mux"              { user 0x0d }                (selector: Uleb)                              [varies]  Het    -   "LLVM: Dwarf.def"   "is an unpublished operation of NVIDIA";
    AspaceImplicitPointer "DW_OP_LLVM_aspace_implicit_pointer" { one 0xe9 }            (entry: SectionReference, offset: Sleb)       [1 -> 1]  Het    -   "HET A.2.5.4.4.5"   "pushes the location of a pointer into an address space that was optimized away";
    PushIteration    "DW_OP_LLVM_push_iteration"          { }                                                                        [0 -> 1]  Het    -   "HET A.2.5.4.3.1"   "pushes the iteration in focus";
    Overlay          "DW_OP_LLVM_overlay"                 { }                                                                        [4 -> 1]  Het    cfi "HET A.2.5.4.4.6"   "covers some bytes of a location with another";
    Composite        "DW_OP_composite"                    { }                                                                        [0 -> 1]  Dwarf6 -   "DWARF 6, 230524.1" "pushes a composite without parts";
    BitOverlay       "DW_OP_LLVM_bit_overlay"             { }                                                                        [4 -> 1]  Het    cfi "HET A.2.5.4.4.6"   "covers some bits of a location with another";
}

impl Operation<'_> {
    /// Returns the constant that it pushes with the generic type, with a signed one as 64 bits. Returns `None` if it pushes none, or one stored
    /// elsewhere. Source: HET A.2.5.4.3.1.
    #[must_use]
    pub fn constant(&self) -> Option<u64> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the others push no constant"
        )]
        Some(match *self {
            Operation::Lit { value } | Operation::Const1u { value } => value.into(),
            Operation::Const2u { value } => value.into(),
            Operation::Const4u { value } => value.into(),
            Operation::Const8u { value } | Operation::Constu { value } => value,
            Operation::Const1s { value } => i64::from(value).cast_unsigned(),
            Operation::Const2s { value } => i64::from(value).cast_unsigned(),
            Operation::Const4s { value } => i64::from(value).cast_unsigned(),
            Operation::Const8s { value } | Operation::Consts { value } => value.cast_unsigned(),
            _ => return None,
        })
    }
}

impl Opcode {
    /// Returns the operation's row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        // One list generates both rows and variants, so a variant's number is its row's index.
        #[expect(clippy::indexing_slicing, reason = "one row for each variant")]
        &ROWS[self as usize]
    }

    /// Returns the operation with a number in the table.
    #[inline]
    pub(crate) fn from_number(number: u8) -> Option<Opcode> {
        ROWS.get(usize::from(number)).map(|row| row.opcode)
    }

    /// Returns the operation's name, without the number for a family.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the vendor code that `codes` assigns to an operation without its own code.
    pub(super) fn private_code(self, codes: PrivateCodes) -> Option<u16> {
        // Only four operations have no code yet; the rows have the others.
        if self == Opcode::AspaceImplicitPointer {
            codes.aspace_implicit_pointer
        } else if self == Opcode::PushIteration {
            codes.push_iteration
        } else if self == Opcode::Overlay {
            codes.overlay
        } else if self == Opcode::BitOverlay {
            codes.bit_overlay
        } else {
            None
        }
    }
}

/// The meanings of the one-byte codes in a dialect: the number of an operation, or [`VENDOR`].
pub(super) type Meanings = [u8; 256];

/// The meaning of a code without its own operation, such as `DW_OP_LLVM_user`.
const VENDOR: u8 = u8::MAX;

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses what overflows and an index that is too large"
)]
const fn meanings(dialect: Dialect) -> Meanings {
    let mut table = [VENDOR; 256];
    let mut i = 0;
    while i < ROWS.len() {
        let row = ROWS[i];
        let vendor = match dialect {
            Dialect::User | Dialect::UserWith(_) | Dialect::Dwarf6 | Dialect::Dwarf6InMemory => {
                None
            }
            Dialect::OneByte => row.codes.one,
            Dialect::Draft => row.codes.draft,
        };
        if let Some(code) = row.codes.gnu {
            table[code as usize] = row.opcode as u8;
        }
        if let Some(code) = vendor {
            table[code as usize] = row.opcode as u8;
        }
        if let Some(code) = row.codes.std {
            let mut member = 0;
            while member < row.family {
                table[code as usize + member as usize] = row.opcode as u8;
                member += 1;
            }
        }
        i += 1;
    }
    table
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which refuses what overflows and an index that is too large"
)]
const fn vendor_codes() -> [Option<Opcode>; 16] {
    let mut table = [None; 16];
    let mut i = 0;
    while i < ROWS.len() {
        if let Some(code) = ROWS[i].codes.user {
            table[code as usize] = Some(ROWS[i].opcode);
        }
        i += 1;
    }
    table
}

/// `DW_OP_LLVM_user`.
pub(super) const USER: u8 = 0xe9;

static USER_DIALECT: Meanings = meanings(Dialect::User);
static ONE_BYTE_DIALECT: Meanings = meanings(Dialect::OneByte);
static DRAFT_DIALECT: Meanings = meanings(Dialect::Draft);
static VENDOR_CODES: [Option<Opcode>; 16] = vendor_codes();

/// Returns the code of an operation, or the first code of a family.
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler; one row for each variant"
)]
pub(crate) const fn first_code(opcode: Opcode) -> u8 {
    match ROWS[opcode as usize].codes.std {
        Some(code) => code,
        None => 0,
    }
}

/// Returns the meanings of all one-byte codes in `dialect`.
pub(super) fn dialect_table(dialect: Dialect) -> &'static Meanings {
    match dialect {
        Dialect::User | Dialect::UserWith(_) | Dialect::Dwarf6 | Dialect::Dwarf6InMemory => {
            &USER_DIALECT
        }
        Dialect::OneByte => &ONE_BYTE_DIALECT,
        Dialect::Draft => &DRAFT_DIALECT,
    }
}

/// Returns the operation with a vendor code.
pub(super) fn by_vendor_code(code: u64, dialect: Dialect) -> Option<Opcode> {
    if let Some(opcode) = usize::try_from(code)
        .ok()
        .and_then(|code| VENDOR_CODES.get(code).copied())
        .flatten()
    {
        return Some(opcode);
    }
    let mut without = PrivateCodes::OPERATIONS
        .into_iter()
        .chain([Opcode::Composite]);
    without.find(|opcode| dialect.private_code(*opcode).map(u64::from) == Some(code))
}
