//! Defines the interface between an evaluation and the debugging information.

use super::context::Subprogram;
use super::location_list::LocationEntry;
use super::value::BaseType;
use crate::arch::Register;
use crate::error::Result;
use crate::expr;

/// The facts of a compilation unit that an expression needs: its identity, and the encoding of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit {
    /// The unit's number, assigned by the [`Resolver`].
    pub id: u32,
    /// Sizes and dialect of the unit's expressions.
    pub encoding: expr::Encoding,
}

impl Unit {
    /// Returns no particular unit, for expressions without references, such as those in call frame information.
    #[must_use]
    pub const fn unknown(encoding: expr::Encoding) -> Unit {
        Unit {
            id: u32::MAX,
            encoding,
        }
    }
}

/// The bytes of one operation expression, and their origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpressionBytes<'a> {
    /// The operations.
    pub bytes: &'a [u8],
    /// The unit that contains the expression.
    pub unit: Unit,
    /// The section of the bytes, such as `.debug_info` or `.debug_loclists`.
    pub section: &'static str,
    /// The offset of the first byte in that section.
    pub offset: u64,
}

impl<'a> ExpressionBytes<'a> {
    /// Returns an expression outside any section.
    #[must_use]
    pub const fn alone(bytes: &'a [u8], unit: Unit) -> ExpressionBytes<'a> {
        ExpressionBytes {
            bytes,
            unit,
            section: "",
            offset: 0,
        }
    }

    /// Returns the operations as text, in the style of llvm-dwarfdump.
    #[must_use]
    pub fn text(&self) -> String {
        expr::Printer::new(self.unit.encoding).expression(self.bytes)
    }
}

/// The value of an attribute such as `DW_AT_location`: an expression or a list of them.
///
/// Intentionally exhaustive: DWARF has these two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationAttribute<'a> {
    /// One operation expression (class `exprloc`).
    Expression(ExpressionBytes<'a>),
    /// A location list (class `loclist`).
    List {
        /// The unit with the attribute.
        unit: Unit,
        /// The offset of the list in `.debug_loclists` or `.debug_loc`.
        offset: u64,
    },
}

/// A reference to a debugging information entry.
///
/// Intentionally exhaustive: DWARF has these two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DieReference {
    /// The offset in bytes from the start of the header of the current unit.
    InUnit(u64),
    /// The offset in bytes from the start of `.debug_info`.
    InSection(u64),
}

/// The target of `DW_OP_call*` or of an implicit pointer. Source: HET A.2.5.4.2.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Procedure<'a> {
    /// `DW_AT_location`.
    Location(LocationAttribute<'a>),
    /// `DW_AT_const_value`: the bytes of the value, in target order.
    Constant(&'a [u8]),
    /// Neither.
    Nothing,
}

/// A call, by addresses of the code object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPlace {
    /// An address in the called function.
    pub callee: u64,
    /// An address within the call instruction.
    pub address: u64,
}

/// The value of a register on entry to the called function, according to the call site. Source: DWARF 5 §3.4.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum CallSite<'a> {
    /// Unknown: the call site has no value for it, or no entry.
    Unknown,
    /// The call site calls another function, which has ended in a tail call.
    OtherFunction,
    /// The register's value (`DW_AT_call_value`), to be evaluated in the caller.
    Value {
        /// The expression.
        value: ExpressionBytes<'a>,
        /// The subprogram that contains the call site.
        subprogram: Subprogram<'a>,
    },
}

/// Answers the queries of an evaluation to the debugging information.
///
/// All addresses are relative to the code object; the evaluation adds the load address.
pub trait Resolver<'a> {
    /// Returns the location or constant of the entry to which `die`, in an expression of `unit`, refers.
    ///
    /// # Errors
    /// [`SpecRule::WrongReference`](crate::error::SpecRule::WrongReference) if there is no entry there.
    fn procedure(&self, unit: Unit, die: DieReference) -> Result<Procedure<'a>>;

    /// Returns the base type at `offset`, in bytes from the start of the unit's header.
    ///
    /// # Errors
    /// [`SpecRule::NotABaseType`](crate::error::SpecRule::NotABaseType) if there is none.
    fn base_type(&self, unit: Unit, offset: u64) -> Result<BaseType>;

    /// Returns entry `index` of the unit's part of `.debug_addr`.
    ///
    /// # Errors
    /// If the unit has no such entry.
    fn address(&self, unit: Unit, index: u64) -> Result<u64>;

    /// Passes the entries of the location list at `offset` to `visit`, in order, until it fails. It passes `None` for an entry without an expression,
    /// such as a base address, or whose expression does not hold at `pc`, an address of the code object. `visit` charges for each call, so every
    /// entry read must be passed.
    ///
    /// # Errors
    /// If the list is malformed, or `visit` fails.
    fn location_list(
        &self,
        unit: Unit,
        offset: u64,
        pc: u64,
        visit: &mut dyn FnMut(Option<LocationEntry<'a>>) -> Result<()>,
    ) -> Result<()>;

    /// Returns the intended meaning of an expression chosen from a location list. It is the expression itself, unless its producer deviates from the
    /// specification.
    ///
    /// # Errors
    /// If it is unknown.
    fn as_meant(&self, expression: ExpressionBytes<'a>) -> Result<ExpressionBytes<'a>> {
        Ok(expression)
    }

    /// Returns the value of `register` on entry to the called function, according to the call site.
    ///
    /// # Errors
    /// If the entries are malformed.
    fn call_site(&self, register: Register, call: CallPlace) -> Result<CallSite<'a>> {
        let _ = (register, call);
        Ok(CallSite::Unknown)
    }
}
