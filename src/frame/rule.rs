//! The rules of rows, for the canonical frame address and the registers of the caller. Source: HET A.6.4.1.

/// An expression of a rule, and where it is. Two are equal if their bytes are, wherever they stand.
#[derive(Clone, Copy, Debug, Eq)]
pub struct RuleExpression<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The offset of the first of them in the section of call frame information; 0 of an expression that is in none, as one
    /// that is to be written.
    pub offset: u64,
}

impl PartialEq for RuleExpression<'_> {
    fn eq(&self, other: &RuleExpression<'_>) -> bool {
        self.bytes == other.bytes
    }
}

/// An expression that is in no section.
impl<'a> From<&'a [u8]> for RuleExpression<'a> {
    fn from(bytes: &'a [u8]) -> RuleExpression<'a> {
        RuleExpression { bytes, offset: 0 }
    }
}

/// The rule for the canonical frame address.
#[non_exhaustive]
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
    /// The result of an expression.
    Expression(RuleExpression<'a>),
}

/// The rule for a register of the caller. Source: HET A.6.4.1, "The register rules are".
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
    Expression(RuleExpression<'a>),
    /// The value that an expression gives.
    ValExpression(RuleExpression<'a>),
    /// As the augmentation says.
    Architectural,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds of what an index keeps count with it.
    #[test]
    fn a_rule_has_four_words() {
        assert_eq!(size_of::<RegisterRule<'_>>(), 32);
        assert_eq!(size_of::<CfaRule<'_>>(), 32);
    }

    #[test]
    fn an_expression_is_the_same_wherever_it_stands() {
        let bytes: &[u8] = &[0x30, 0x9f];
        let elsewhere = RuleExpression { bytes, offset: 7 };
        assert_eq!(elsewhere, RuleExpression::from(bytes));
        assert_ne!(elsewhere, RuleExpression::from(&bytes[1..]));
    }
}
