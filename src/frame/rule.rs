//! The rules of rows: where the canonical frame address is, and the registers of the caller. Source: HET A.6.4.1.

/// How the canonical frame address is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CfaRule<'a> {
    /// It is not said.
    #[default]
    None,
    /// The address in a register plus an offset, in a space.
    Register {
        /// The register's number.
        register: u64,
        /// Bytes that are added.
        offset: i64,
        /// The number of the address space.
        space: u64,
    },
    /// What an expression gives.
    Expression(&'a [u8]),
}

/// How a register of the caller is found. Source: HET A.6.4.1, "The register rules are".
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterRule<'a> {
    /// It cannot be found.
    Undefined,
    /// It is unchanged. AMDGPU's default.
    SameValue,
    /// In memory at the CFA plus an offset in bytes.
    Offset(i64),
    /// It is the address at the CFA plus an offset in bytes.
    ValOffset(i64),
    /// In another register, by its number.
    Register(u64),
    /// At the location that an expression gives.
    Expression(&'a [u8]),
    /// The value that an expression gives.
    ValExpression(&'a [u8]),
    /// As the augmentation says.
    Architectural,
}
