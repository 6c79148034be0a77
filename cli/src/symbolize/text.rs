//! Prints answers as text: a block for each address, or inside lines.

use core::fmt::{self, Write as _};
use std::io::Write;

use hetdwarf::inspect::{FrameDescription, FrameKind};
use hetdwarf::untrusted::{Escaper, Untrusted};

use super::demangle::demangled;
use super::request::{Request, hexadecimal};
use super::{Answer, Answers};
use crate::arguments::FunctionNames;
use crate::failure::Failure;
use crate::style::BOLD;

/// Answers a line that is an address, and passes any other line on.
pub(super) fn line(
    answers: &mut Answers<'_, '_, '_, '_>,
    line: &[u8],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let line = String::from_utf8_lossy(line);
    let answer = Request::parse(&line).and_then(|request| answers.answer(&request));
    let Some(answer) = answer else {
        return pass(&line, out);
    };
    let title = format!("{}", Untrusted::from(line.trim()));
    let has_name = answers.shape.functions != FunctionNames::None;
    let shown = |frame| Shown {
        frame,
        has_name,
        is_bold: true,
    };
    let mut frames = answer.symbolized.frames.iter();
    match frames.next() {
        Some(frame) => writeln!(out, "{title}: {}", shown(frame))?,
        None => writeln!(out, "{title}: {}", unknown(&answer))?,
    }
    for frame in frames {
        writeln!(
            out,
            "{:indent$}  {}",
            "",
            shown(frame),
            indent = title.chars().count()
        )?;
    }
    Ok(())
}

fn unknown(answer: &Answer) -> String {
    if answer.objects.len() < 2 {
        return "??".to_owned();
    }
    let numbers: Vec<String> = answer.objects.iter().map(usize::to_string).collect();
    let numbers = numbers.join(", ");
    format!("?? (in the code objects {numbers}: write NUMBER:0x…)")
}

/// Prints a line with the positions of all addresses in it.
pub(super) fn filter(
    answers: &mut Answers<'_, '_, '_, '_>,
    line: &[u8],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\n', '\r']);
    let has_name = answers.shape.functions != FunctionNames::None;
    let mut escaper = Escaper::new();
    let mut made = String::new();
    let mut written = 0;
    for token in Tokens::new(line) {
        let Some(answer) = token.requests().find_map(|it| answers.answer(&it)) else {
            continue;
        };
        let frames = &answer.symbolized.frames;
        if frames.is_empty() {
            continue;
        }
        let before = line.get(written..token.end).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = escaper.write(before, &mut made);
        let frames: Vec<String> = frames
            .iter()
            .map(|frame| {
                Shown {
                    frame,
                    has_name,
                    is_bold: false,
                }
                .to_string()
            })
            .collect();
        let _ = write!(made, " ({})", frames.join(", "));
        written = token.end;
    }
    let _ = escaper.write(line.get(written..).unwrap_or_default(), &mut made);
    Ok(writeln!(out, "{made}")?)
}

/// Passes a line on.
fn pass(line: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let mut escaped = String::with_capacity(line.len());
    // Writing to a string cannot fail.
    let _ = Escaper::new().write(line.trim_end_matches(['\n', '\r']), &mut escaped);
    Ok(writeln!(out, "{escaped}")?)
}

/// Formats a frame.
struct Shown<'f> {
    frame: &'f FrameDescription,
    has_name: bool,
    /// True if the name is printed in bold.
    is_bold: bool,
}

impl Shown<'_> {
    fn name(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = self.frame;
        let name = frame.linkage_name.as_deref().or(frame.function.as_deref());
        let name = name.map(demangled);
        let name = Untrusted::from(name.as_deref().unwrap_or("??"));
        match self.is_bold {
            true => write!(f, "{BOLD}{name}{BOLD:#}")?,
            false => write!(f, "{name}")?,
        }
        match (frame.kind, frame.symbol_offset) {
            (FrameKind::Inlined, _) => f.write_str(" (inlined)"),
            (_, Some(offset)) => write!(f, "+{offset:#x} (symbol)"),
            (_, None) => Ok(()),
        }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = self.frame;
        if self.has_name {
            self.name(f)?;
        }
        match (&frame.file, self.has_name) {
            (Some(file), has_name) => {
                let at = if has_name { " at " } else { "" };
                write!(f, "{at}{}", Untrusted::from(&*file.path))?;
                for number in [frame.line, frame.column].into_iter().flatten() {
                    write!(f, ":{number}")?;
                }
            }
            (None, false) => f.write_str("??")?,
            (None, true) => {}
        }
        match frame.is_approximate && frame.line.is_some() {
            true => f.write_str(" (approximate)"),
            false => Ok(()),
        }
    }
}

/// An address within a line.
struct Token<'l> {
    line: &'l str,
    /// The position of `0x`.
    start: usize,
    /// The end of the digits.
    end: usize,
}

impl<'l> Token<'l> {
    /// Returns the possible requests that end at the address, the longest first.
    fn requests(&self) -> impl Iterator<Item = Request<'l>> + use<'l> {
        let (before, rest) = self.line.split_at_checked(self.start).unwrap_or_default();
        let digits = rest
            .get(..self.end.saturating_sub(self.start))
            .unwrap_or_default();
        let address = hexadecimal(digits);
        let symbol = before.strip_suffix('+').and_then(|before| {
            let name = before.rsplit(|c: char| !is_of_symbol(c)).next()?;
            Some(Request::Symbol(name, address?)).filter(|_| !name.is_empty())
        });
        let within = before.strip_suffix(':').and_then(|before| {
            let number = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
            let rest = before.strip_suffix(number)?;
            let is_alone = !rest.ends_with(|c: char| is_of_symbol(c) || c == ':');
            let number = number.parse().ok().filter(|_| is_alone)?;
            Some(Request::Within(number, address?))
        });
        let plain = address.map(Request::Process);
        let plain = plain.filter(|_| symbol.is_none() && within.is_none());
        symbol.into_iter().chain(within).chain(plain)
    }
}

fn is_of_symbol(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$' | '@')
}

/// An iterator over the addresses in a line.
struct Tokens<'l> {
    line: &'l str,
    from: usize,
}

impl<'l> Tokens<'l> {
    fn new(line: &'l str) -> Tokens<'l> {
        Tokens { line, from: 0 }
    }
}

impl<'l> Iterator for Tokens<'l> {
    type Item = Token<'l>;

    fn next(&mut self) -> Option<Token<'l>> {
        loop {
            let rest = self.line.get(self.from..)?;
            let start = self.from.saturating_add(rest.find("0x")?);
            let digits = self.line.get(start.saturating_add(2)..)?;
            let count = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
            let end = start.saturating_add(2).saturating_add(count);
            self.from = end;
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let before = self.line.get(..start)?.chars().next_back();
            let after = self.line.get(end..)?.chars().next();
            if count > 0 && !before.is_some_and(is_word) && !after.is_some_and(is_word) {
                return Some(Token {
                    line: self.line,
                    start,
                    end,
                });
            }
        }
    }
}
