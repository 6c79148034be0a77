//! The interface through which an evaluation asks the debugging information.

use super::context::Subprogram;
use super::location_list::LocationEntry;
use super::value::BaseType;
use crate::arch::Register;
use crate::error::Result;
use crate::expr;

/// A compilation unit, as far as an expression needs to know it: which one, and how its operands are
/// encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unit {
    /// The unit's number, given out by the [`Resolver`].
    pub id: u32,
    /// Sizes and dialect of the unit's expressions.
    pub encoding: expr::Encoding,
}

impl Unit {
    /// No unit in particular: for expressions that refer to none, like those of call frame information.
    #[must_use]
    pub const fn unknown(encoding: expr::Encoding) -> Unit {
        Unit {
            id: u32::MAX,
            encoding,
        }
    }
}

/// The bytes of one operation expression, and where they came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpressionBytes<'a> {
    /// The operations.
    pub bytes: &'a [u8],
    /// The unit that contains the expression.
    pub unit: Unit,
    /// The section the bytes stand in, `.debug_info` or `.debug_loclists` for example.
    pub section: &'static str,
    /// The offset of the first byte in that section.
    pub offset: u64,
}

impl<'a> ExpressionBytes<'a> {
    /// Returns an expression that is in no section.
    #[must_use]
    pub const fn alone(bytes: &'a [u8], unit: Unit) -> ExpressionBytes<'a> {
        ExpressionBytes {
            bytes,
            unit,
            section: "",
            offset: 0,
        }
    }

    /// Returns the operations as text, as llvm-dwarfdump prints them.
    #[must_use]
    pub fn text(&self) -> String {
        expr::Printer::new(self.unit.encoding).expression(self.bytes)
    }
}

/// The value of an attribute like `DW_AT_location`, which is an expression or a list of them.
///
/// It is exhaustive on purpose: DWARF has these two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationAttribute<'a> {
    /// One operation expression (class `exprloc`).
    Expression(ExpressionBytes<'a>),
    /// A location list (class `loclist`).
    List {
        /// The unit whose attribute it is.
        unit: Unit,
        /// The offset of the list in `.debug_loclists` or `.debug_loc`.
        offset: u64,
    },
}

/// A reference to a debugging information entry.
///
/// It is exhaustive on purpose: DWARF has these two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DieReference {
    /// Counted in bytes from the start of the header of the current unit.
    InUnit(u64),
    /// Counted in bytes from the start of `.debug_info`.
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
    /// An address in the function that is called.
    pub callee: u64,
    /// An address within the call instruction.
    pub address: u64,
}

/// The value that a call site gives a register on entry to the called function. Source: DWARF 5 §3.4.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum CallSite<'a> {
    /// Nothing, or there is no entry for it.
    Unknown,
    /// It calls another function, which has ended in a tail call.
    OtherFunction,
    /// The value it had (`DW_AT_call_value`), evaluated in the caller.
    Value {
        /// The expression.
        value: ExpressionBytes<'a>,
        /// The subprogram that contains the call site.
        subprogram: Subprogram<'a>,
    },
}

/// Answers the questions of an evaluation about the debugging information.
///
/// All addresses are those of the code object; the evaluation adds the load address.
pub trait Resolver<'a> {
    /// Returns the location or constant of the entry that `die`, in an expression of `unit`, refers to.
    ///
    /// # Errors
    /// [`SpecRule::WrongReference`](crate::error::SpecRule::WrongReference) if there is no entry there.
    fn procedure(&self, unit: Unit, die: DieReference) -> Result<Procedure<'a>>;

    /// The base type at `offset`, in bytes from the start of the unit's header.
    ///
    /// # Errors
    /// [`SpecRule::NotABaseType`](crate::error::SpecRule::NotABaseType) if there is none.
    fn base_type(&self, unit: Unit, offset: u64) -> Result<BaseType>;

    /// Entry `index` of the unit's part of `.debug_addr`.
    ///
    /// # Errors
    /// If the unit has no such entry.
    fn address(&self, unit: Unit, index: u64) -> Result<u64>;

    /// Gives `visit` the entries of the location list at `offset`, in their order, until it fails; nothing in place of one
    /// that says no expression, such as one that sets a base address, or whose expression does not hold at `pc`, an address of
    /// the code object. `visit` pays for each, so that every entry that is read has to be given, as one or the other.
    ///
    /// # Errors
    /// If the list is malformed, and those of `visit`.
    fn location_list(
        &self,
        unit: Unit,
        offset: u64,
        pc: u64,
        visit: &mut dyn FnMut(Option<LocationEntry<'a>>) -> Result<()>,
    ) -> Result<()>;

    /// What is meant by an expression that was chosen of a location list: the expression itself, unless its producer means
    /// something else than it says.
    ///
    /// # Errors
    /// If it is unknown.
    fn as_meant(&self, expression: ExpressionBytes<'a>) -> Result<ExpressionBytes<'a>> {
        Ok(expression)
    }

    /// Returns the value that a call site gives `register` on entry to the called function.
    ///
    /// # Errors
    /// If the entries are malformed.
    fn call_site(&self, register: Register, call: CallPlace) -> Result<CallSite<'a>> {
        let _ = (register, call);
        Ok(CallSite::Unknown)
    }
}
