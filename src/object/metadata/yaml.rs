//! Reads the subset of YAML that compilers write for code objects of version 2: block maps and lists, lists in brackets, plain and quoted scalars.
//!
//! Anything else (anchors, tags, scalars of several lines) is an error with its line number. None of the project's dependencies reads YAML. Source:
//! YAML 1.2; LLVM's "YAML I/O".

use rmpv::Value;

use super::malformed;
use crate::error::{Error, Result};
use crate::meter::Held;

/// The maximum nesting of maps and lists. The document has 5 levels.
const MAX_DEPTH: u16 = 16;

/// Reads a document. Its values are charged to `held`.
pub(super) fn read(text: &str, held: &Held) -> Result<Value> {
    let mut lines = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        held.meter().work(1)?;
        held.hold_all::<Line<'_>>(1)?;
        let line = Line::new(number, text.trim_end());
        match line.text {
            "---" if lines.is_empty() => {}
            "..." if line.indent == 0 => break,
            text if text.is_empty() || text.starts_with('#') => {}
            text if text.starts_with('\t') => return Err(line.bad("is indented by a tab")),
            _ => lines.push(line),
        }
    }
    lines.reverse();
    let mut reader = Reader { lines, held };
    let indent = reader.lines.last().map_or(0, |line| line.indent);
    let value = reader.block(indent, 0)?;
    match reader.lines.last() {
        Some(line) => Err(line.bad("belongs to nothing")),
        None => Ok(value),
    }
}

#[derive(Clone, Copy)]
struct Line<'t> {
    number: usize,
    indent: usize,
    text: &'t str,
}

impl<'t> Line<'t> {
    fn new(number: usize, whole: &'t str) -> Line<'t> {
        let text = whole.trim_start_matches(' ');
        Line {
            number,
            indent: whole.len().saturating_sub(text.len()),
            text,
        }
    }

    fn bad(&self, why: &str) -> Error {
        malformed(format!("line {} of its YAML {why}", self.number))
    }

    /// Returns the text after the dash of a list item, as a line.
    fn item(&self) -> Option<Line<'t>> {
        let rest = self.text.strip_prefix('-')?;
        if !(rest.is_empty() || rest.starts_with(' ')) {
            return None;
        }
        let text = rest.trim_start_matches(' ');
        let skipped = self.text.len().saturating_sub(text.len());
        Some(Line {
            indent: self.indent.saturating_add(skipped),
            text,
            ..*self
        })
    }

    /// Returns the key of a map entry, and the text after the colon.
    fn entry(&self) -> Result<Option<(String, &'t str)>> {
        let (key, rest) = if self.text.starts_with(['"', '\'']) {
            self.quoted(self.text)?
        } else {
            let end = (self.text.char_indices()).find(|&(at, c)| {
                let rest = self.text.get(at..).unwrap_or_default();
                c == ':' && (rest.len() == 1 || rest.starts_with(": "))
            });
            let Some((key, rest)) = end.and_then(|(at, _)| self.text.split_at_checked(at)) else {
                return Ok(None);
            };
            (key.to_owned(), rest)
        };
        let value = rest.trim_start_matches(' ').strip_prefix(':');
        Ok(value.map(|value| (key, value.trim_start_matches(' '))))
    }

    /// Returns the quoted text at the start of `text`, and the text after it.
    fn quoted<'r>(&self, text: &'r str) -> Result<(String, &'r str)> {
        let open = || self.bad("has a quote that does not end");
        let quote = text.chars().next().ok_or_else(open)?;
        let mut out = String::new();
        let mut chars = text.chars();
        chars.next();
        while let Some(c) = chars.next() {
            if c == quote && quote == '\'' && chars.as_str().starts_with('\'') {
                chars.next();
                out.push('\'');
            } else if c == quote {
                return Ok((out, chars.as_str()));
            } else if c == '\\' && quote == '"' {
                out.push(self.escaped(&mut chars)?);
            } else {
                out.push(c);
            }
        }
        Err(open())
    }

    /// Decodes an escape sequence.
    fn escaped(&self, chars: &mut core::str::Chars<'_>) -> Result<char> {
        let bad = || self.bad("has an unknown escape sequence");
        let escape = chars.next().ok_or_else(bad)?;
        let digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            '0' => return Ok('\0'),
            'a' => return Ok('\u{7}'),
            'b' => return Ok('\u{8}'),
            't' => return Ok('\t'),
            'n' => return Ok('\n'),
            'v' => return Ok('\u{b}'),
            'f' => return Ok('\u{c}'),
            'r' => return Ok('\r'),
            'e' => return Ok('\u{1b}'),
            'N' => return Ok('\u{85}'),
            '_' => return Ok('\u{a0}'),
            'L' => return Ok('\u{2028}'),
            'P' => return Ok('\u{2029}'),
            ' ' | '"' | '/' | '\\' => return Ok(escape),
            _ => return Err(bad()),
        };
        let mut number = 0_u32;
        for _ in 0..digits {
            let digit = chars.next().and_then(|c| c.to_digit(16)).ok_or_else(bad)?;
            number = (number << 4) | digit;
        }
        char::from_u32(number).ok_or_else(bad)
    }
}

struct Reader<'t, 'h> {
    /// The remaining lines, in reverse order.
    lines: Vec<Line<'t>>,
    held: &'h Held,
}

impl<'t> Reader<'t, '_> {
    /// Charges for a value and its text, and for a temporary copy.
    fn charge(&self, text: &str) -> Result<()> {
        self.held.meter().work(1)?;
        self.held.hold_all::<Value>(6)?;
        self.held.hold((text.len() as u64).saturating_mul(2))
    }

    fn next_at(&self, indent: usize) -> Option<Line<'t>> {
        self.lines
            .last()
            .copied()
            .filter(|line| line.indent == indent)
    }

    /// Reads a map, a list or a scalar whose lines have this indent.
    fn block(&mut self, indent: usize, depth: u16) -> Result<Value> {
        let Some(line) = self.next_at(indent) else {
            return Ok(Value::Nil);
        };
        if depth >= MAX_DEPTH {
            return Err(line.bad("is nested too deeply"));
        }
        if line.item().is_some() {
            return self.list(indent, depth);
        }
        if line.entry()?.is_some() {
            return self.map(indent, depth);
        }
        self.lines.pop();
        self.inline(&line, line.text)
    }

    fn list(&mut self, indent: usize, depth: u16) -> Result<Value> {
        let mut items = Vec::new();
        while let Some(item) = self.next_at(indent).and_then(|line| line.item()) {
            self.charge("")?;
            self.lines.pop();
            // The text after the dash is a block, whose further lines are below it.
            let inner = match item.text.is_empty() {
                false => {
                    self.lines.push(item);
                    item.indent
                }
                true => self.inner_indent(indent.saturating_add(1)),
            };
            items.push(self.block(inner, depth.saturating_add(1))?);
        }
        Ok(Value::Array(items))
    }

    /// Returns the indent of the next line, if it is at least `least`. Otherwise it returns an indent that no line has.
    fn inner_indent(&self, least: usize) -> usize {
        let next = self.lines.last().map(|line| line.indent);
        next.filter(|&indent| indent >= least).unwrap_or(usize::MAX)
    }

    fn map(&mut self, indent: usize, depth: u16) -> Result<Value> {
        let mut entries = Vec::new();
        while let Some(line) = self.next_at(indent).filter(|line| line.item().is_none()) {
            let entry = line.entry()?;
            let (key, value) = entry.ok_or_else(|| line.bad("is not an entry of a map"))?;
            self.charge(&key)?;
            self.lines.pop();
            let is_empty = value.is_empty() || value.starts_with('#');
            let value = match is_empty {
                false => self.inline(&line, value)?,
                true => {
                    // A list can have the indent of its key.
                    let is_list = self
                        .next_at(indent)
                        .is_some_and(|line| line.item().is_some());
                    let least = match is_list {
                        true => indent,
                        false => indent.saturating_add(1),
                    };
                    let inner = self.inner_indent(least);
                    self.block(inner, depth.saturating_add(1))?
                }
            };
            entries.push((key.into(), value));
        }
        Ok(Value::Map(entries))
    }

    /// Returns a value in the same line as its key or dash.
    fn inline(&mut self, line: &Line<'t>, text: &str) -> Result<Value> {
        if !text.starts_with('[') {
            let (value, rest) = self.scalar(line, text, &[])?;
            return only_comment(rest)
                .then_some(value)
                .ok_or_else(|| line.bad("has text after its value"));
        }
        // A list can continue in the next lines.
        let mut whole = text.to_owned();
        while !only_comment(after_list(&whole)) || !whole.contains(']') {
            let more = self.lines.pop();
            let more = more.ok_or_else(|| line.bad("has a list that does not end"))?;
            self.held.hold(more.text.len() as u64)?;
            whole.push(' ');
            whole.push_str(more.text);
            self.held.meter().charge_bytes(whole.len())?;
        }
        let mut items = Vec::new();
        let mut rest = whole.strip_prefix('[').unwrap_or_default().trim_start();
        while !rest.starts_with(']') {
            let (value, after) = self.scalar(line, rest, &[',', ']'])?;
            items.push(value);
            rest = after.trim_start();
            match rest.strip_prefix(',') {
                Some(after) => rest = after.trim_start(),
                None if rest.starts_with(']') => {}
                None => return Err(line.bad("has a list that does not end")),
            }
        }
        Ok(Value::Array(items))
    }

    /// Returns a scalar, and the text after it.
    ///
    /// * `ends`: the characters that end an unquoted one, in addition to a comment.
    fn scalar<'r>(
        &self,
        line: &Line<'_>,
        text: &'r str,
        ends: &[char],
    ) -> Result<(Value, &'r str)> {
        if text.starts_with(['"', '\'']) {
            let (value, rest) = line.quoted(text)?;
            self.charge(&value)?;
            return Ok((value.into(), rest));
        }
        if text.starts_with(['&', '*', '!', '|', '>', '{', '%', '@', '`', '[']) {
            return Err(line.bad("has a value of an unsupported kind"));
        }
        let comment = text.find(" #").unwrap_or(text.len());
        let end = text.find(ends).unwrap_or(text.len()).min(comment);
        let (value, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        let value = value.trim_end();
        self.charge(value)?;
        let value = match value {
            "true" => true.into(),
            "false" => false.into(),
            "" | "~" | "null" => Value::Nil,
            _ => match (value.parse::<u64>(), value.parse::<i64>()) {
                (Ok(number), _) => number.into(),
                (_, Ok(number)) => number.into(),
                _ => value.into(),
            },
        };
        Ok((value, rest))
    }
}

fn only_comment(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with('#')
}

/// Returns the text after the last bracket. Nested lists are not supported.
fn after_list(text: &str) -> &str {
    text.rsplit_once(']').map_or("", |(_, after)| after)
}

#[cfg(test)]
mod tests;
