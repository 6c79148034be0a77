//! Represents the rules of rows, for the canonical frame address and the registers of the caller. Source: HET A.6.4.1.

/// An expression of a rule, with its offset. Two are equal if their bytes are equal, regardless of the offset.
#[derive(Clone, Copy, Debug, Eq)]
pub struct RuleExpression<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// The offset of its first byte in the section of call frame information, or 0 for an expression outside a section, such as one to be written.
    pub offset: u64,
}

impl PartialEq for RuleExpression<'_> {
    fn eq(&self, other: &RuleExpression<'_>) -> bool {
        self.bytes == other.bytes
    }
}

/// Returns an expression outside a section.
impl<'a> From<&'a [u8]> for RuleExpression<'a> {
    fn from(bytes: &'a [u8]) -> RuleExpression<'a> {
        RuleExpression { bytes, offset: 0 }
    }
}

/// The rule for the canonical frame address.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CfaRule<'a> {
    /// No rule.
    #[default]
    None,
    /// The address in a register plus an offset, in a space.
    Register {
        /// The register's number.
        register: u64,
        /// The number of bytes added.
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
    /// The value is lost.
    Undefined,
    /// The value is unchanged. AMDGPU's default.
    SameValue,
    /// In memory at the CFA plus an offset in bytes.
    Offset(i64),
    /// The value is the address at the CFA plus an offset in bytes.
    ValOffset(i64),
    /// In another register, by its number.
    Register(u64),
    /// At the location computed by an expression.
    Expression(RuleExpression<'a>),
    /// The value is the result of an expression.
    ValExpression(RuleExpression<'a>),
    /// Defined by the augmentation.
    Architectural,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of the index depend on this size.
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
