//! Handles the operations of DWARF expressions. One table lists them all, and is the basis for decoding, encoding, printing, parsing and building.
//!
//! The semantics of operations is left to [`eval`](crate::eval). Sources: [HET](crate) A.2.5.4 and A.7.7, DWARF 5 §2.5 and §7.7.
//!
//! ```
//! use hetdwarf::expr::{self, Encoding};
//! use fallible_iterator::FallibleIterator;
//!
//! let bytes = expr::parse("DW_OP_regx SGPR33, DW_OP_deref_size 0x4, DW_OP_lit5, DW_OP_LLVM_form_aspace_address",
//!     &expr::ParseOptions::default())?.encode(Encoding::AMDGPU)?;
//! assert_eq!(bytes, [0x90, 0x41, 0x94, 0x04, 0x35, 0xe9, 0x02]);
//! let names: Vec<_> = expr::operations(&bytes, Encoding::AMDGPU).map(|item| Ok(item.name().to_string())).collect()?;
//! assert_eq!(names, ["DW_OP_regx", "DW_OP_deref_size", "DW_OP_lit5", "DW_OP_LLVM_form_aspace_address"]);
//! # Ok::<(), hetdwarf::Error>(())
//! ```

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod build;
mod cursor;
mod decode;
mod dwarf6;
mod encode;
mod operand;
mod parse;
mod print;
mod table;
#[cfg(test)]
mod tests;

pub use build::{Builder, Label};
pub use decode::{Code, Item, Operations, operations};
pub use encode::encode_operation;
pub use operand::{OperandKind, OperandValue};
pub use parse::{Expression, ParseOptions, parse};
pub use print::{BaseTypeNames, Printer, RegisterStyle};
pub use table::{Codes, Opcode, Operation, ROWS, Row, Since, StackEffect};

pub(crate) use cursor::Cursor;
pub(crate) use decode::Decoder;
pub(crate) use encode::{write_sized, write_sleb, write_uleb};
pub(crate) use table::{first_code, number, read};

/// The sizes and codes on which operands of expressions depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// The size of an address of the default address space, in bytes: 4 or 8.
    pub address_size: u8,
    /// The size of a reference to an entry of any unit, in bytes. It equals the size of a section offset: 4 in 32-bit DWARF and 8 in 64-bit DWARF;
    /// see [`reference_size`](Self::reference_size).
    pub offset_size: u8,
    /// The encoding of the heterogeneous operations.
    pub dialect: Dialect,
}

/// The encoding of the heterogeneous operations; see `spec-notes/encodings.md`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The current one: `DW_OP_LLVM_user` (0xe9) and a vendor code.
    #[default]
    User,
    /// The current one, with privately agreed vendor codes for operations that have none.
    UserWith(PrivateCodes),
    /// Codes of one byte, 0xe1 to 0xec, as emitted from 2020 to 2022.
    OneByte,
    /// The codes of the first draft.
    Draft,
    /// The names of DWARF 6, which has no codes yet: only operations of DWARF 5 can be decoded and encoded.
    Dwarf6,
    /// The codes of expressions with the semantics of [`Dwarf6`](Self::Dwarf6) that never leave memory: see [`Encoding::in_memory`].
    Dwarf6InMemory,
}

impl Dialect {
    /// Returns true if operations have the names and the meaning of DWARF 6.
    #[must_use]
    pub const fn is_dwarf6(self) -> bool {
        matches!(self, Dialect::Dwarf6 | Dialect::Dwarf6InMemory)
    }

    /// Returns the vendor code of an operation without its own code.
    pub(crate) fn private_code(self, opcode: Opcode) -> Option<u16> {
        /// The vendor code of `DW_OP_composite`, which only DWARF 6 has.
        const COMPOSITE: u16 = 0xff05;
        match self {
            Dialect::UserWith(private) => opcode.private_code(private),
            Dialect::Dwarf6InMemory if opcode == Opcode::Composite => Some(COMPOSITE),
            Dialect::Dwarf6InMemory => opcode.private_code(PrivateCodes::IN_MEMORY),
            Dialect::User | Dialect::OneByte | Dialect::Draft | Dialect::Dwarf6 => None,
        }
    }
}

/// Vendor codes for operations that have none in the specification ("TBA" in HET A.7.7.1).
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PrivateCodes {
    /// `DW_OP_LLVM_aspace_implicit_pointer`.
    pub aspace_implicit_pointer: Option<u16>,
    /// `DW_OP_LLVM_push_iteration`.
    pub push_iteration: Option<u16>,
    /// `DW_OP_LLVM_overlay`.
    pub overlay: Option<u16>,
    /// `DW_OP_LLVM_bit_overlay`.
    pub bit_overlay: Option<u16>,
}

impl PrivateCodes {
    /// The operations without their own vendor code.
    pub const OPERATIONS: [Opcode; 4] = [
        Opcode::AspaceImplicitPointer,
        Opcode::PushIteration,
        Opcode::Overlay,
        Opcode::BitOverlay,
    ];

    /// Codes for expressions that are built and evaluated only in memory.
    pub const IN_MEMORY: PrivateCodes = PrivateCodes {
        aspace_implicit_pointer: Some(0xff01),
        push_iteration: Some(0xff02),
        overlay: Some(0xff03),
        bit_overlay: Some(0xff04),
    };
}

impl Encoding {
    /// Returns the size of a reference to an entry of any unit, as in `DW_OP_call_ref`. In DWARF 2 it is the size of an address, from DWARF 3 on the
    /// size of an offset.
    ///
    /// Source: DWARF 3 §7.4 on the differences to DWARF 2, as for `DW_FORM_ref_addr`.
    #[must_use]
    pub const fn reference_size(version: u16, address_size: u8, offset_size: u8) -> u8 {
        if version <= 2 {
            address_size
        } else {
            offset_size
        }
    }

    /// The encoding that AMDGPU compilers emit: 64-bit addresses, 32-bit DWARF, `DW_OP_LLVM_user`.
    pub const AMDGPU: Encoding = Encoding {
        address_size: 8,
        offset_size: 4,
        dialect: Dialect::User,
    };

    /// Returns these sizes with a code for every operation, for expressions that never leave memory.
    #[must_use]
    pub const fn in_memory(self) -> Encoding {
        let dialect = match self.dialect.is_dwarf6() {
            true => Dialect::Dwarf6InMemory,
            false => Dialect::UserWith(PrivateCodes::IN_MEMORY),
        };
        Encoding { dialect, ..self }
    }
}
