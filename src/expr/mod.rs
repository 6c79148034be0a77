//! Operations of DWARF expressions.

/// The sizes and codes that operands of expressions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// The size of an address of the default address space, in bytes: 4 or 8.
    pub address_size: u8,
    /// The size of an offset into a debug section, in bytes: 4 in 32-bit DWARF, 8 in 64-bit DWARF.
    pub offset_size: u8,
    /// Which codes the heterogeneous operations have.
    pub dialect: Dialect,
}

/// Which codes the heterogeneous operations have; see `spec-notes/encodings.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Today's: `DW_OP_LLVM_user` (0xe9) and a vendor code.
    #[default]
    User,
    /// Codes of one byte, 0xe1 to 0xec, as emitted from 2020 to 2022.
    OneByte,
    /// The codes of the first draft.
    Draft,
}

impl Encoding {
    /// What AMDGPU compilers emit: 64-bit addresses, 32-bit DWARF, `DW_OP_LLVM_user`.
    pub const AMDGPU: Encoding = Encoding {
        address_size: 8,
        offset_size: 4,
        dialect: Dialect::User,
    };
}
