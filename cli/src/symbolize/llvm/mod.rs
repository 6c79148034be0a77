//! Prints answers like llvm-symbolizer 22, for programs that parse its output.
//!
//! Names, lines and the choice of symbols follow llvm-symbolizer, even if the other formats are better. `spec-notes/symbolize.md` lists the
//! remaining differences.

mod request;
mod symbols;

use std::borrow::Cow;
use std::io::Write;

use super::super::arguments::FunctionNames;
use super::super::failure::Failure;
use super::Answers;
use super::demangle::as_llvm;
use super::shape::Shape;
use crate::style::WARNING;
use hetdwarf::arch::ProcessAddress;
use hetdwarf::debug_info::SourceFrame;
use hetdwarf::inspect::Program;
use hetdwarf::untrusted::Untrusted;
use request::{Command, Place, Request};
use symbols::Symbols;

/// The most bytes of a line that are read at once. The rest becomes a line of its own.
const LINE: usize = 1023;

/// A frame as it is printed.
#[derive(Clone, Debug, Default)]
struct Frame {
    function: Option<String>,
    file: Option<String>,
    line: u64,
    column: u64,
}

/// Answers lines.
pub(super) struct Printer<'w, 's, 'p, 'a, 'e> {
    answers: &'w mut Answers<'s, 'p, 'a, 'e>,
    shape: Shape,
    /// The symbols of each code object.
    symbols: Vec<Symbols<'a>>,
}

impl<'w, 's, 'p, 'a, 'e> Printer<'w, 's, 'p, 'a, 'e> {
    pub(super) fn new(answers: &'w mut Answers<'s, 'p, 'a, 'e>) -> Printer<'w, 's, 'p, 'a, 'e> {
        let symbolizer = answers.symbolizer;
        let programs = (0..symbolizer.object_count()).map(|object| symbolizer.program(object));
        let symbols = programs
            .map(|program| match program {
                Some((program, _)) => Symbols::of(program.object()),
                None => Symbols::default(),
            })
            .collect();
        Printer {
            shape: answers.shape,
            symbols,
            answers,
        }
    }

    /// Answers a line.
    pub(super) fn line(&mut self, line: &[u8], out: &mut dyn Write) -> Result<(), Failure> {
        for piece in line.chunks(LINE) {
            let end = piece.iter().position(|byte| *byte == 0);
            let text = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let mut text = text.to_vec();
            text.retain(|byte| !matches!(byte, b'\r' | b'\n'));
            self.piece(&String::from_utf8_lossy(&text), out)?;
        }
        Ok(())
    }

    fn piece(&mut self, line: &str, out: &mut dyn Write) -> Result<(), Failure> {
        if line.is_empty() {
            return self.print(&[Frame::default()], out);
        }
        let Request { command, place } = match request::parse(line) {
            Ok(request) => request,
            Err(reason) => {
                let shown = Untrusted::from(line);
                let _ = writeln!(
                    self.answers.err,
                    "{WARNING}warning{WARNING:#}: {shown}: {reason}"
                );
                return self.print(&[Frame::default()], out);
            }
        };
        match (command, place) {
            (Command::Data, Place::Address(address)) => self.data(address, out),
            (Command::Data, Place::Symbol(_, offset)) => self.data(offset, out),
            (Command::Frame, _) => {
                let message = "FRAME is not supported; `hetdwarf vars` shows variables";
                let _ = writeln!(self.answers.err, "{WARNING}warning{WARNING:#}: {message}");
                Ok(writeln!(out, "??\n")?)
            }
            (Command::Code, Place::Address(address)) => {
                let frames = match self.object_at(address) {
                    Some((object, address)) => self.code(object, address, self.shape.inlines),
                    None => vec![Frame::default()],
                };
                self.print(&frames, out)
            }
            (Command::Code, Place::Symbol(name, offset)) => self.symbol(&name, offset, out),
        }
    }

    /// Returns the code object that contains an address of the process, and the address in it.
    fn object_at(&mut self, address: u64) -> Option<(usize, u64)> {
        let address = ProcessAddress(address);
        let objects = self.answers.symbolizer.objects_at(address);
        self.answers.is_ambiguous |= objects.len() > 1;
        let [object] = *objects else {
            return None;
        };
        let (_, load_address) = self.answers.symbolizer.program(object)?;
        Some((object, load_address.to_code(address).0))
    }

    /// Returns the frames of an address, at least one.
    fn code(&mut self, object: usize, address: u64, inlines: bool) -> Vec<Frame> {
        let Some((program, _)) = self.answers.symbolizer.program(object) else {
            return vec![Frame::default()];
        };
        let shape = self.shape;
        // The symbol table names the function that contains the code.
        let is_named = shape.functions == FunctionNames::Linkage;
        let symbols = self.symbols.get(object).filter(|_| is_named);
        let named = symbols.and_then(|symbols| symbols.at(address));
        let mut frames = Vec::new();
        match self.answers.lookups.source_frames(object, address) {
            Some(Ok(found)) => {
                let count = if inlines { usize::MAX } else { 1 };
                let mut found = found.take(count).peekable();
                let mut is_innermost = true;
                while let Some(frame) = found.next() {
                    let names = match found.peek().is_none() && named.is_some() {
                        true => FunctionNames::None,
                        false => shape.functions,
                    };
                    frames.extend(shown(names, shape.basenames, program, &frame, is_innermost));
                    is_innermost = false;
                }
            }
            Some(Err(error)) => self.answers.note(&error),
            None => {}
        }
        let is_unknown = match inlines {
            true => frames.is_empty(),
            false => !matches!(program.info().find_unit(address), Ok(Some(_))),
        };
        if frames.is_empty() {
            frames.push(Frame::default());
        }
        if let Some(named) = named
            && let Some(frame) = frames.last_mut()
        {
            frame.function = Some(named.symbol.name.to_string());
            if is_unknown && let Some(file) = named.file() {
                frame.file = Some(file.to_owned());
            }
        }
        frames
    }

    /// Prints the lines of all symbols with this name.
    fn symbol(&mut self, name: &str, offset: u64, out: &mut dyn Write) -> Result<(), Failure> {
        let mut places = Vec::new();
        for (object, symbols) in self.symbols.iter().enumerate() {
            places.extend(symbols.named(name).iter().map(|named| {
                let offset = if offset < named.symbol.size {
                    offset
                } else {
                    0
                };
                (object, named.symbol.address.wrapping_add(offset))
            }));
        }
        let mut frames = Vec::new();
        for (object, address) in places {
            let found = self.code(object, address, false);
            frames.extend(found.into_iter().filter(|frame| frame.file.is_some()));
        }
        if frames.is_empty() {
            frames.push(Frame::default());
        }
        self.print(&frames, out)
    }

    /// Prints the symbol at an address.
    fn data(&mut self, address: u64, out: &mut dyn Write) -> Result<(), Failure> {
        let place = self.object_at(address);
        let symbol = place.and_then(|(object, address)| self.symbols.get(object)?.at(address));
        let name = symbol.map_or(Cow::Borrowed("??"), |named| as_llvm(&named.symbol.name));
        let (start, size) =
            symbol.map_or((0, 0), |named| (named.symbol.address, named.symbol.size));
        let file = symbol.and_then(|named| named.file());
        match file {
            Some(file) => writeln!(out, "{name}\n{start} {size}\n{file}:0\n")?,
            None => writeln!(out, "{name}\n{start} {size}\n??:?\n")?,
        }
        Ok(())
    }

    fn print(&self, frames: &[Frame], out: &mut dyn Write) -> Result<(), Failure> {
        for frame in frames {
            if self.shape.functions != FunctionNames::None {
                let name = frame.function.as_deref().map(as_llvm);
                writeln!(out, "{}", name.as_deref().unwrap_or("??"))?;
            }
            let file = frame.file.as_deref().unwrap_or("??");
            writeln!(out, "{file}:{}:{}", frame.line, frame.column)?;
        }
        Ok(writeln!(out)?)
    }
}

/// Returns a frame as it is printed. Returns None for code without a function and with an unknown file.
fn shown(
    names: FunctionNames,
    basenames: bool,
    program: &Program<'_>,
    frame: &SourceFrame<'_, '_>,
    is_innermost: bool,
) -> Option<Frame> {
    let short = || frame.name().map(str::to_owned);
    let function = match names {
        FunctionNames::None => None,
        FunctionNames::Short => short(),
        FunctionNames::Linkage => frame.linkage_name().map(Cow::into_owned).or_else(short),
    };
    let file = frame.file();
    if frame.die().is_none() && file.is_none() {
        return None;
    }
    let position = frame
        .raw_position()
        .filter(|_| !is_innermost || file.is_some());
    let (line, column) = position.unwrap_or_default();
    let file = file.map(|file| match (basenames, frame.unit()) {
        (true, Some(unit)) => {
            let name = program.info().source_file_name(unit, file.index);
            let name = name.ok().flatten().unwrap_or_default();
            match name.starts_with('/') {
                true => name.into_owned(),
                false => name.rsplit('/').next().unwrap_or_default().to_owned(),
            }
        }
        _ => file.path.to_string(),
    });
    Some(Frame {
        function,
        file,
        line,
        column,
    })
}
