//! Formats expressions in the style of llvm-dwarfdump.

use core::fmt::{self, Write};

use fallible_iterator::FallibleIterator;

use super::operand::{OperandKind, OperandValue};
use super::{Code, Encoding, Item, operations};
use crate::arch::{Machine, Register, RegisterName};

/// The registers printed by name.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegisterStyle {
    /// All registers with a name: `DW_OP_regx VGPR42` also in code for 32 lanes.
    #[default]
    Names,
    /// The registers that llvm-dwarfdump 22 names, which exclude the vector registers of code for 32 lanes.
    LlvmDwarfdump,
    /// The registers of a machine other than AMDGPU, with the names of llvm-dwarfdump 22.
    Other(Machine),
}

impl RegisterStyle {
    /// Returns the printed name of a register number, or `None` if the number is printed.
    #[must_use]
    pub fn register_name(self, number: u64) -> Option<RegisterName> {
        let register = match self {
            RegisterStyle::Names => Register::from_number(number)?,
            RegisterStyle::LlvmDwarfdump => {
                Register::from_number(number).filter(|register| register.llvm_dwarfdump_knows())?
            }
            RegisterStyle::Other(machine) => return machine.register_name(number),
        };
        register.llvm_name()
    }
}

/// Finds the names of base types, to print `(0x0000002a) "int"`.
pub trait BaseTypeNames {
    /// Returns the offset in `.debug_info` and the name of the base type at `offset` bytes from the header of the expression's unit, or `None` if
    /// there is no base type.
    fn base_type_name(&self, offset: u64) -> Option<(u64, String)>;
}

/// Prints expressions.
#[derive(Clone, Copy)]
pub struct Printer<'n> {
    encoding: Encoding,
    style: RegisterStyle,
    verbose: bool,
    names: Option<&'n dyn BaseTypeNames>,
}

impl fmt::Debug for Printer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Printer")
            .field("encoding", &self.encoding)
            .field("style", &self.style)
            .finish_non_exhaustive()
    }
}

impl<'n> Printer<'n> {
    /// Creates a printer for expressions of this encoding.
    #[must_use]
    pub fn new(encoding: Encoding) -> Printer<'n> {
        Printer {
            encoding,
            style: RegisterStyle::default(),
            verbose: false,
            names: None,
        }
    }

    /// Selects the registers printed by name.
    #[must_use]
    pub fn style(self, style: RegisterStyle) -> Printer<'n> {
        Printer { style, ..self }
    }

    /// Enables printing the encoding of references to base types.
    #[must_use]
    pub fn verbose(self, verbose: bool) -> Printer<'n> {
        Printer { verbose, ..self }
    }

    /// Sets the lookup for names of base types.
    #[must_use]
    pub fn names(self, names: &'n dyn BaseTypeNames) -> Printer<'n> {
        Printer {
            names: Some(names),
            ..self
        }
    }

    /// Formats the operations of `bytes`, separated by commas.
    ///
    /// If they cannot be decoded, the text ends in `<decoding error>` and the remaining bytes.
    #[must_use]
    pub fn expression(&self, bytes: &[u8]) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.write(bytes, &mut out, 0);
        out
    }

    /// Formats one operation.
    #[must_use]
    pub fn item(&self, item: &Item<'_>) -> String {
        let mut out = String::new();
        let _ = self.write_item(item, &mut out, 0);
        out
    }

    /// Returns true if the text must equal llvm-dwarfdump's, including its peculiarities.
    fn is_llvm(&self) -> bool {
        !matches!(self.style, RegisterStyle::Names)
    }

    fn write(&self, bytes: &[u8], out: &mut String, depth: u32) -> fmt::Result {
        let mut items = operations(bytes, self.encoding);
        let mut end = 0;
        let mut separator = "";
        loop {
            match items.next() {
                Ok(Some(item)) => {
                    out.push_str(separator);
                    self.write_item(&item, out, depth)?;
                    end = item.end;
                }
                Ok(None) => return Ok(()),
                Err(_) => {
                    write!(out, "{separator}<decoding error>")?;
                    for byte in bytes.get(end..).unwrap_or_default() {
                        write!(out, " {byte:02x}")?;
                    }
                    return Ok(());
                }
            }
            separator = ", ";
        }
    }

    fn write_item(&self, item: &Item<'_>, out: &mut String, depth: u32) -> fmt::Result {
        /// Nested entry values have no meaning. Only a few levels are printed, so that the text stays linear.
        const DEPTH: u32 = 4;
        let of_dwarf6 = super::dwarf6::name(item.operation.opcode());
        match of_dwarf6.filter(|_| self.encoding.dialect.is_dwarf6()) {
            Some(name) => out.push_str(name),
            None => {
                if matches!(item.code, Code::User(_)) {
                    out.push_str("DW_OP_LLVM_user ");
                }
                write!(out, "{}", item.name())?;
            }
        }
        let row = item.operation.opcode().row();
        let mut named = None;
        for (kind, value) in row.operands.iter().zip(item.operation.operands()) {
            match (kind, value) {
                (OperandKind::Member, value) => {
                    if row.name != "DW_OP_lit" {
                        named = self.write_register(value, out)?;
                    }
                }
                (OperandKind::Register, value) => {
                    named = self.write_register(value, out)?;
                    if let (None, OperandValue::Unsigned(number)) = (named, value) {
                        write!(out, " {number:#x}")?;
                    }
                }
                (OperandKind::Displacement, OperandValue::Signed(value)) if named.is_some() => {
                    write!(out, "{value:+}")?
                }
                (OperandKind::BaseType, OperandValue::Unsigned(offset)) => {
                    self.write_base_type(row.name, offset, out)?
                }
                (OperandKind::Expression, OperandValue::Bytes(bytes)) => {
                    out.push('(');
                    if depth < DEPTH {
                        self.write(bytes, out, depth.wrapping_add(1))?;
                    } else {
                        out.push_str("...");
                    }
                    out.push(')');
                }
                (_, OperandValue::Unsigned(value)) => write!(out, " {value:#x}")?,
                (_, OperandValue::Signed(value)) => write!(out, " {value:+}")?,
                (_, OperandValue::Bytes(bytes)) => {
                    write!(out, " {:#x}", bytes.len())?;
                    for byte in bytes {
                        write!(out, " {byte:#04x}")?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes a register's name, if it is printed by name.
    fn write_register(
        &self,
        value: OperandValue<'_>,
        out: &mut String,
    ) -> Result<Option<RegisterName>, fmt::Error> {
        let number = u64::try_from(value).ok();
        let name = number.and_then(|number| self.style.register_name(number));
        if let Some(name) = name {
            write!(out, " {name}")?;
        }
        Ok(name)
    }

    fn write_base_type(&self, operation: &str, offset: u64, out: &mut String) -> fmt::Result {
        if offset == 0 {
            return out.write_str(" 0x0");
        }
        let Some(names) = self.names else {
            if operation == "DW_OP_regval_type" && self.is_llvm() {
                return write!(out, " <base_type ref: {offset:#x}>");
            }
            return write!(out, " {offset:#x}");
        };
        match names.base_type_name(offset) {
            Some((at, name)) if self.verbose => {
                write!(out, " ({offset:#010x} -> {at:#010x}) \"{name}\"")
            }
            Some((at, name)) => write!(out, " ({at:#010x}) \"{name}\""),
            None => write!(out, " <invalid base_type ref: {offset:#x}>"),
        }
    }
}
