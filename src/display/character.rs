//! Formats characters and strings in C syntax. Source: DWARF 5 §7.8 (`DW_ATE_signed_char`, `DW_ATE_UTF`).

use core::fmt::{self, Write as _};

use super::Printer;
use crate::eval::{BaseType, BaseTypeEncoding};

/// The encoding of a character type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `char` of any signedness, and `char8_t`: one byte, of which only ASCII is treated as text.
    Narrow,
    /// `char16_t`.
    Utf16,
    /// `char32_t`.
    Utf32,
    /// `wchar_t` of 16 bits.
    Wide16,
    /// `wchar_t` of 32 bits.
    Wide32,
}

impl Kind {
    /// Returns the encoding of the characters of a base type called `name`, or `None` if it is no character type.
    pub(super) fn of(base: &BaseType, name: Option<&str>) -> Option<Kind> {
        if base.elements > 1 {
            return None;
        }
        match (base.encoding, base.bit_size, name) {
            (
                BaseTypeEncoding::SignedChar
                | BaseTypeEncoding::UnsignedChar
                | BaseTypeEncoding::Utf,
                8,
                _,
            ) => Some(Kind::Narrow),
            (BaseTypeEncoding::Utf, 16, _) | (BaseTypeEncoding::Unsigned, 16, Some("char16_t")) => {
                Some(Kind::Utf16)
            }
            (BaseTypeEncoding::Utf, 32, _) | (BaseTypeEncoding::Unsigned, 32, Some("char32_t")) => {
                Some(Kind::Utf32)
            }
            (BaseTypeEncoding::Signed | BaseTypeEncoding::Unsigned, 16, Some("wchar_t")) => {
                Some(Kind::Wide16)
            }
            (BaseTypeEncoding::Signed | BaseTypeEncoding::Unsigned, 32, Some("wchar_t")) => {
                Some(Kind::Wide32)
            }
            _ => None,
        }
    }

    /// Returns the size of one unit, in bits.
    pub(super) fn bit_size(self) -> u64 {
        match self {
            Kind::Narrow => 8,
            Kind::Utf16 | Kind::Wide16 => 16,
            Kind::Utf32 | Kind::Wide32 => 32,
        }
    }

    /// Returns C's prefix before the quote.
    fn prefix(self) -> &'static str {
        match self {
            Kind::Narrow => "",
            Kind::Utf16 => "u",
            Kind::Utf32 => "U",
            Kind::Wide16 | Kind::Wide32 => "L",
        }
    }
}

/// A character, or a code unit that encodes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Char(char),
    Octal(u32),
    Hex(u32),
}

impl Unit {
    /// Writes the unit in the form for use between `quote`s, after the unit `before`.
    fn write(self, out: &mut dyn fmt::Write, quote: char, before: Option<Unit>) -> fmt::Result {
        match self {
            Unit::Char('\x07') => out.write_str("\\a"),
            Unit::Char('\x08') => out.write_str("\\b"),
            Unit::Char('\t') => out.write_str("\\t"),
            Unit::Char('\n') => out.write_str("\\n"),
            Unit::Char('\x0b') => out.write_str("\\v"),
            Unit::Char('\x0c') => out.write_str("\\f"),
            Unit::Char('\r') => out.write_str("\\r"),
            Unit::Char('\\') => out.write_str("\\\\"),
            Unit::Char(c) if c == quote => write!(out, "\\{c}"),
            // A hexadecimal escape has no terminator, so a following digit would belong to it.
            Unit::Char(c) if c.is_ascii_hexdigit() && matches!(before, Some(Unit::Hex(_))) => {
                write!(out, "\\{:03o}", u32::from(c))
            }
            Unit::Char(c) if c.is_ascii() && !c.is_ascii_control() => out.write_char(c),
            Unit::Char(c) if c.is_ascii() => write!(out, "\\{:03o}", u32::from(c)),
            Unit::Char(c) if c.escape_debug().count() == 1 => out.write_char(c),
            Unit::Char(c) => match u32::from(c) {
                code @ ..=0xffff => write!(out, "\\u{code:04x}"),
                code => write!(out, "\\U{code:08x}"),
            },
            Unit::Octal(value) => write!(out, "\\{value:03o}"),
            Unit::Hex(value) => write!(out, "\\x{value:x}"),
        }
    }
}

impl Printer<'_> {
    /// Prints the character at `offset`, all bits of which are known.
    pub(super) fn character(&mut self, kind: Kind, offset: u64) -> fmt::Result {
        let unit = self.units(kind, offset, 1).next().unwrap_or(Unit::Octal(0));
        write!(self.out, "{}'", kind.prefix())?;
        unit.write(&mut self.out, '\'', None)?;
        self.out.put("'")
    }

    /// Prints an array of `count` characters at `offset`, all bits of which are known.
    ///
    /// One character of a terminator is omitted. All others are shown, including those after a terminator.
    pub(super) fn string(&mut self, kind: Kind, offset: u64, count: u64) -> fmt::Result {
        let size = kind.bit_size();
        let last = offset + count.saturating_sub(1) * size;
        let terminated = count > 0 && self.bits.unsigned(last, size) == 0;
        let mut units = self
            .units(kind, offset, count - u64::from(terminated))
            .peekable();

        let mut text = Quoted::default();
        let mut printed = 0u64;
        let mut segments = Vec::new();
        while printed < self.options.max_elements {
            let Some(unit) = units.next() else { break };
            let mut run = 1u64;
            while units.next_if_eq(&unit).is_some() {
                run += 1;
            }
            printed += run;
            segments.push((unit, run));
        }
        let cut = units.peek().is_some();
        drop(units);

        self.out.put(kind.prefix())?;
        for (unit, run) in segments {
            text.append(&mut self.out, unit, run, self.options.repeats)?;
        }
        text.finish(&mut self.out)?;
        if cut { self.out.put("...") } else { Ok(()) }
    }

    /// Returns the characters that `count` units at `offset` encode.
    fn units(&self, kind: Kind, offset: u64, count: u64) -> impl Iterator<Item = Unit> + use<'_> {
        let size = kind.bit_size();
        let raw = (0..count).map(move |index| {
            let at = offset + index * size;
            u32::try_from(self.bits.unsigned(at, size)).unwrap_or(0)
        });
        let decoded: Box<dyn Iterator<Item = Unit>> = match kind {
            Kind::Narrow => Box::new(raw.map(|byte| match char::from_u32(byte) {
                Some(c) if c.is_ascii() => Unit::Char(c),
                _ => Unit::Octal(byte),
            })),
            Kind::Utf16 | Kind::Wide16 => {
                let raw = raw.map(|unit| u16::try_from(unit).unwrap_or(0));
                Box::new(char::decode_utf16(raw).map(|unit| match unit {
                    Ok(c) => Unit::Char(c),
                    Err(lone) => Unit::Hex(lone.unpaired_surrogate().into()),
                }))
            }
            Kind::Utf32 | Kind::Wide32 => {
                Box::new(raw.map(|unit| char::from_u32(unit).map_or(Unit::Hex(unit), Unit::Char)))
            }
        };
        decoded
    }
}

/// Text under construction, with quotes except around runs of one character.
#[derive(Debug, Default)]
struct Quoted {
    /// True if anything has been written.
    started: bool,
    /// True if a quote is open.
    open: bool,
    /// The last character inside it.
    last: Option<Unit>,
}

impl Quoted {
    /// Appends `unit` `run` times, combined if that exceeds `repeats`.
    fn append(
        &mut self,
        out: &mut dyn fmt::Write,
        unit: Unit,
        run: u64,
        repeats: u64,
    ) -> fmt::Result {
        if run > repeats {
            self.close(out)?;
            self.separate(out)?;
            out.write_str("'")?;
            unit.write(out, '\'', None)?;
            return write!(out, "' <repeats {run} times>");
        }
        for _ in 0..run {
            if !self.open {
                self.separate(out)?;
                out.write_str("\"")?;
                self.open = true;
            }
            unit.write(out, '"', self.last)?;
            self.last = Some(unit);
        }
        Ok(())
    }

    /// Writes a comma, unless it is the first.
    fn separate(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        let first = !core::mem::replace(&mut self.started, true);
        if first { Ok(()) } else { out.write_str(", ") }
    }

    /// Closes the quote if one is open.
    fn close(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.last = None;
        if core::mem::take(&mut self.open) {
            out.write_str("\"")
        } else {
            Ok(())
        }
    }

    /// Ends the text. An empty one becomes `""`.
    fn finish(&mut self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.close(out)?;
        if self.started {
            Ok(())
        } else {
            out.write_str("\"\"")
        }
    }
}
