//! Parses expressions from the output of [`Printer`](super::Printer).

use super::operand::{OperandKind, OperandValue};
use super::table::{Opcode, Operation, ROWS};
use super::{Encoding, dwarf6, encode_operation};
use crate::arch::{Register, WaveSize};
use crate::error::{Error, ErrorKind, Result};

/// Options for parsing ambiguous text.
#[derive(Clone, Copy, Debug)]
pub struct ParseOptions {
    /// The wave size, which selects the registers for `VGPR4`, `AGPR0`, `EXEC` and `VCC`.
    pub wave_size: WaveSize,
    /// The sizes and codes in expressions nested in others (`DW_OP_entry_value`).
    pub encoding: Encoding,
    /// The base of `(0x0000002a)`: the offset of the unit's header in `.debug_info`. A base type without parentheses is relative to the header.
    pub unit_offset: u64,
}

impl Default for ParseOptions {
    /// Returns 64 lanes, the encoding of AMDGPU, and a unit at the start of `.debug_info`.
    fn default() -> ParseOptions {
        ParseOptions {
            wave_size: WaveSize::Wave64,
            encoding: Encoding::AMDGPU,
            unit_offset: 0,
        }
    }
}

/// An operation that owns its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parsed {
    opcode: Opcode,
    operands: Vec<Operand>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operand {
    Unsigned(u64),
    Signed(i64),
    Bytes(Vec<u8>),
}

/// An expression in memory, from text or a [`Builder`](super::Builder). It has not been encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    operations: Vec<Parsed>,
}

impl Expression {
    /// Returns the number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns true if there is no operation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Appends an operation.
    pub fn push(&mut self, operation: Operation<'_>) {
        let operands = operation
            .operands()
            .iter()
            .map(|operand| match *operand {
                OperandValue::Unsigned(value) => Operand::Unsigned(value),
                OperandValue::Signed(value) => Operand::Signed(value),
                OperandValue::Bytes(bytes) => Operand::Bytes(bytes.to_vec()),
            })
            .collect();
        self.operations.push(Parsed {
            opcode: operation.opcode(),
            operands,
        });
    }

    /// Returns the operations, in order.
    pub fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        self.operations.iter().filter_map(|parsed| {
            let operands: Vec<_> = parsed
                .operands
                .iter()
                .map(|operand| match operand {
                    Operand::Unsigned(value) => OperandValue::Unsigned(*value),
                    Operand::Signed(value) => OperandValue::Signed(*value),
                    Operand::Bytes(bytes) => OperandValue::Bytes(bytes),
                })
                .collect();
            Operation::from_operands(parsed.opcode, &operands)
        })
    }

    /// Encodes the operations; with [`Encoding::in_memory`] every operation has a code.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] with an operation that has no code in the dialect; [`ErrorKind::Syntax`] with an operand that does not fit.
    pub fn encode(&self, encoding: Encoding) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        for operation in self.operations() {
            encode_operation(&operation, encoding, &mut out)?;
        }
        Ok(out)
    }
}

/// Parses operations separated by commas, in the style of llvm-dwarfdump.
///
/// The names of DWARF 6 are accepted in every dialect. `DW_OP_LLVM_user` may be omitted, and so may the prefixes `DW_OP_` and `DW_OP_LLVM_`. A
/// register may be an assembler name (`v42`), LLVM's name (`VGPR42`) or a number.
///
/// # Errors
/// [`ErrorKind::Syntax`] with the expected and the actual text.
pub fn parse(text: &str, options: &ParseOptions) -> Result<Expression> {
    parse_nested(text, options, 0)
}

fn parse_nested(text: &str, options: &ParseOptions, depth: u32) -> Result<Expression> {
    let mut expression = Expression::default();
    let text = text.trim();
    if text.is_empty() {
        return Ok(expression);
    }
    for part in split_at_commas(text) {
        expression
            .operations
            .push(parse_operation(part.trim(), options, depth)?);
    }
    Ok(expression)
}

/// Splits at the commas outside parentheses and quotes.
fn split_at_commas(text: &str) -> impl Iterator<Item = &str> {
    // Even a text that consists of parentheses has fewer.
    let mut depth = 0i64;
    let mut quoted = false;
    text.split(move |c| {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth = depth.wrapping_add(1),
            ')' if !quoted => depth = depth.wrapping_sub(1),
            _ => {}
        }
        c == ',' && depth == 0 && !quoted
    })
}

fn syntax<T>(expected: impl Into<String>, found: &str) -> Result<T> {
    let found = if found.is_empty() {
        "nothing".to_owned()
    } else {
        format!("`{found}`")
    };
    Err(ErrorKind::Syntax {
        expected: expected.into(),
        found,
    }
    .into())
}

fn parse_operation(text: &str, options: &ParseOptions, depth: u32) -> Result<Parsed> {
    let mut prefixes = ["DW_OP_LLVM_user"].into_iter().chain(dwarf6::PREFIXES);
    let text = prefixes
        .find_map(|prefix| text.strip_prefix(prefix))
        .map_or(text, str::trim_start);
    let end = text
        .find(|c: char| c.is_whitespace() || c == '(')
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some((opcode, member)) = find(name) else {
        return syntax("the name of an operation", name);
    };
    let mut words = Words {
        rest,
        options,
        depth,
    };
    let mut operands = Vec::new();
    let mut register_and_offset = None;
    for kind in opcode.row().operands {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "all other kinds are read without looking at their neighbours"
        )]
        let operand = match kind {
            OperandKind::Member => {
                // The text after a family's name repeats the register's name. Only an offset adds information.
                if opcode != Opcode::Lit {
                    register_and_offset = words.family_register();
                }
                Operand::Unsigned(member.into())
            }
            OperandKind::Register => {
                let (register, offset) = words.register().map_err(|error| after(name, error))?;
                register_and_offset = offset;
                Operand::Unsigned(register)
            }
            OperandKind::Displacement => match register_and_offset.take() {
                Some(offset) => Operand::Signed(offset),
                None => Operand::Signed(words.signed().map_err(|error| after(name, error))?),
            },
            kind => (words.operand(*kind)).map_err(|error| after(name, error))?,
        };
        operands.push(operand);
    }
    words.end(name)?;
    let parsed = Parsed { opcode, operands };
    // An operand may be a valid number, but too large for its field.
    let one = Expression {
        operations: vec![parsed],
    };
    let encoded = one.encode(options.encoding.in_memory());
    if let Err(error) = &encoded
        && matches!(error.kind(), ErrorKind::Unsupported(_))
    {
        return Err(error.clone());
    }
    let fits = one.operations().next().is_some() && encoded.is_ok();
    match one.operations.into_iter().next() {
        Some(parsed) if fits => Ok(parsed),
        Some(_) | None => syntax(format!("operands that fit {name}"), rest.trim()),
    }
}

/// Adds the operation to an error about one of its operands.
fn after(name: &str, error: Error) -> Error {
    let ErrorKind::Syntax { expected, found } = error.kind() else {
        return error;
    };
    // An operation in the operand is already named.
    if expected.contains('`') {
        return error;
    }
    ErrorKind::Syntax {
        expected: format!("{expected} after `{name}`"),
        found: found.clone(),
    }
    .into()
}

/// Returns the operation with a name, and the number in its family.
fn find(name: &str) -> Option<(Opcode, u8)> {
    let prefixes = ["", "DW_OP_", "DW_OP_LLVM_"];
    prefixes
        .iter()
        .find_map(|prefix| {
            ROWS.iter().find_map(|row| {
                let rest = name.strip_prefix(row.name.strip_prefix(prefix)?)?;
                if row.family == 1 {
                    return rest.is_empty().then_some((row.opcode, 0));
                }
                let number = rest
                    .bytes()
                    .all(|b| b.is_ascii_digit())
                    .then(|| rest.parse::<u8>().ok())
                    .flatten()?;
                (number < row.family).then_some((row.opcode, number))
            })
        })
        .or_else(|| gnu(name))
        .or_else(|| Some((dwarf6::find(name)?, 0)))
}

/// Returns GNU's names for operations of DWARF 5.
fn gnu(name: &str) -> Option<(Opcode, u8)> {
    let opcode = match name.strip_prefix("DW_OP_GNU_")? {
        "push_tls_address" => Opcode::FormTlsAddress,
        "addr_index" => Opcode::Addrx,
        "const_index" => Opcode::Constx,
        rest => {
            ROWS.iter()
                .find(|row| {
                    row.codes.gnu.is_some() && row.name.strip_prefix("DW_OP_") == Some(rest)
                })?
                .opcode
        }
    };
    Some((opcode, 0))
}

/// The remaining operands of one operation.
struct Words<'t> {
    rest: &'t str,
    options: &'t ParseOptions,
    depth: u32,
}

impl<'t> Words<'t> {
    fn peek(&self) -> &'t str {
        let rest = self.rest.trim_start();
        rest.split_whitespace().next().unwrap_or("")
    }

    fn word(&mut self) -> &'t str {
        let rest = self.rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        word
    }

    fn end(&self, name: &str) -> Result<()> {
        match self.rest.trim() {
            "" => Ok(()),
            rest => syntax(format!("no more operands of {name}"), rest),
        }
    }

    fn unsigned(&mut self) -> Result<u64> {
        let word = self.word();
        parse_number(word)
            .and_then(|value| u64::try_from(value).ok())
            .map_or_else(|| syntax("a number", word), Ok)
    }

    fn signed(&mut self) -> Result<i64> {
        let word = self.word();
        let value = parse_number(word);
        // A number such as 0xffffffffffffffff has the same 64 bits as -1.
        let value = value.and_then(|value| {
            i64::try_from(value)
                .ok()
                .or_else(|| u64::try_from(value).ok().map(u64::cast_signed))
        });
        value.map_or_else(|| syntax("a signed number", word), Ok)
    }

    /// Reads a register, and the offset if it is attached: `SGPR33+4`.
    fn register(&mut self) -> Result<(u64, Option<i64>)> {
        let word = self.word();
        let split = word
            .char_indices()
            .skip(1)
            .find(|(_, c)| matches!(c, '+' | '-'))
            .map_or(word.len(), |(i, _)| i);
        let (name, offset) = word.split_at(split);
        let number = parse_number(name).and_then(|number| u64::try_from(number).ok());
        let named = || {
            Register::from_name(name, Some(self.options.wave_size))
                .map(|register| u64::from(register.number()))
        };
        let Some(register) = number.or_else(named) else {
            return syntax("a register", word);
        };
        if offset.is_empty() {
            return Ok((register, None));
        }
        match parse_number(offset).and_then(|offset| i64::try_from(offset).ok()) {
            Some(offset) => Ok((register, Some(offset))),
            None => syntax("a register and an offset", word),
        }
    }

    /// Reads the optional text after `DW_OP_reg16` and `DW_OP_breg16`: the register's name, with or without offset.
    fn family_register(&mut self) -> Option<i64> {
        let word = self.peek();
        let is_name = word.starts_with(|c: char| c.is_ascii_alphabetic());
        is_name
            .then(|| self.register().ok().and_then(|(_, offset)| offset))
            .flatten()
    }

    fn operand(&mut self, kind: OperandKind) -> Result<Operand> {
        Ok(match kind {
            OperandKind::S8
            | OperandKind::S16
            | OperandKind::S32
            | OperandKind::S64
            | OperandKind::Branch
            | OperandKind::Sleb
            | OperandKind::WideSleb
            | OperandKind::Displacement => Operand::Signed(self.signed()?),
            OperandKind::Block1 | OperandKind::Block => Operand::Bytes(self.block()?),
            OperandKind::Expression => Operand::Bytes(self.expression()?),
            OperandKind::BaseType => Operand::Unsigned(self.base_type()?),
            OperandKind::Member
            | OperandKind::U8
            | OperandKind::U16
            | OperandKind::U32
            | OperandKind::U64
            | OperandKind::Uleb
            | OperandKind::WideUleb
            | OperandKind::Register
            | OperandKind::Address
            | OperandKind::SectionReference => Operand::Unsigned(self.unsigned()?),
        })
    }

    /// Reads a length and that many bytes.
    fn block(&mut self) -> Result<Vec<u8>> {
        let length = self.unsigned()?;
        let mut bytes = Vec::new();
        // The text bounds the work, since every byte is a word of it.
        for _ in 0..length {
            let word = self.word();
            match parse_number(word).and_then(|value| u8::try_from(value).ok()) {
                Some(byte) => bytes.push(byte),
                None => return syntax(format!("{length} bytes"), word),
            }
        }
        Ok(bytes)
    }

    /// Reads an expression in parentheses.
    fn expression(&mut self) -> Result<Vec<u8>> {
        const DEPTH: u32 = 16;
        let text = self.rest.trim();
        let inner = text
            .strip_prefix('(')
            .and_then(|text| text.strip_suffix(')'));
        let (Some(inner), true) = (inner, self.depth < DEPTH) else {
            return syntax("an expression in parentheses", text);
        };
        self.rest = "";
        parse_nested(inner, self.options, self.depth.wrapping_add(1))?.encode(self.options.encoding)
    }

    /// Reads `0x2a`, relative to the unit's header, or `(0x0000002a) "int"`, relative to the section's start.
    fn base_type(&mut self) -> Result<u64> {
        let word = self.peek();
        let Some(inner) = word
            .strip_prefix('(')
            .and_then(|word| word.strip_suffix(')'))
        else {
            return self.unsigned();
        };
        self.word();
        if let Some(rest) = self.rest.trim_start().strip_prefix('"') {
            let Some((_, rest)) = rest.split_once('"') else {
                return syntax("the end of a name", rest);
            };
            self.rest = rest;
        }
        let offset = parse_number(inner).and_then(|offset| u64::try_from(offset).ok());
        match offset.and_then(|offset| offset.checked_sub(self.options.unit_offset)) {
            Some(offset) => Ok(offset),
            None => syntax("the offset of a base type of the unit", word),
        }
    }
}

/// Parses a number in decimal or, after `0x`, in hexadecimal, with or without a sign.
pub(crate) fn parse_number(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    // Rust's parser would accept a second sign.
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = match digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()?
        }
        Some(_) => return None,
        None => digits.parse::<u64>().ok()?,
    };
    let value = i128::from(value);
    if negative {
        value.checked_neg()
    } else {
        Some(value)
    }
}
