//! Implements `hetdwarf symbolize`.

mod demangle;
mod llvm;
mod objects;
mod request;
mod shape;
mod text;

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::arguments::{SymbolizeArguments, SymbolizeFormat, object_and_load};
use super::contents::{Contents, Lines, STANDARD_INPUT};
use super::failure::{Exit, Failure};
use super::resident::Resident;
use super::style::WARNING;
use hetdwarf::arch::ProcessAddress;
use hetdwarf::inspect::{Lookups, Symbolized, Symbolizer};
use hetdwarf::object::may_hold_code_objects;
use hetdwarf::report::{SymbolizedDocument, to_json};
use hetdwarf::untrusted::Untrusted;
use objects::Advice;
use request::Request;
use shape::Shape;

/// The most different problems that are printed.
const MOST_PROBLEMS: usize = 16;

pub(crate) fn run(
    arguments: &SymbolizeArguments,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Exit, Failure> {
    if arguments.filter && arguments.format != SymbolizeFormat::Text {
        return Err(Failure::new("--filter is for --format text"));
    }
    let inputs = Inputs::of(arguments)?;
    let mut out = BufWriter::new(out);
    let mut resident = Resident::new();
    objects::with_symbolizer(
        arguments,
        &inputs.objects,
        err,
        |symbolizer, advice, release, err| {
            let mut step = || resident.step(release);
            let mut answers = Answers::new(symbolizer, Shape::of(arguments), err);
            let exit = match arguments.format {
                SymbolizeFormat::Llvm => {
                    let mut printer = llvm::Printer::new(&mut answers);
                    inputs.each(&mut out, &mut step, |line, out| printer.line(line, out))?;
                    answers.exit()
                }
                SymbolizeFormat::Json => {
                    inputs.each(&mut out, &mut step, |line, out| answers.json(line, out))?;
                    answers.exit()
                }
                SymbolizeFormat::Text => {
                    inputs.each(&mut out, &mut step, |line, out| match arguments.filter {
                        true => text::filter(&mut answers, line, out),
                        false => text::line(&mut answers, line, out),
                    })?;
                    answers.exit()
                }
            };
            answers.warn_of_no_code(advice);
            out.flush()?;
            Ok(exit)
        },
    )
}

/// The inputs that the positional arguments name.
struct Inputs<'i> {
    objects: Vec<&'i Path>,
    addresses: Vec<&'i Path>,
    reads_standard_input: bool,
}

impl<'i> Inputs<'i> {
    fn of(arguments: &'i SymbolizeArguments) -> Result<Inputs<'i>, Failure> {
        let paths = arguments.inputs.iter().map(PathBuf::as_path);
        let (standard, given): (Vec<&Path>, Vec<&Path>) =
            paths.partition(|path| *path == Path::new(STANDARD_INPUT));
        let (objects, addresses): (Vec<&Path>, Vec<&Path>) = match arguments.format {
            // llvm-symbolizer accepts any text as an address.
            SymbolizeFormat::Llvm => {
                let count = usize::from(arguments.core.is_empty());
                let (objects, addresses) = given.split_at(count.min(given.len()));
                (objects.to_vec(), addresses.to_vec())
            }
            SymbolizeFormat::Text | SymbolizeFormat::Json => {
                given.into_iter().partition(|path| !is_address(path))
            }
        };
        if objects.is_empty() && arguments.core.is_empty() {
            return Err(Failure::new("name an OBJECT, or a --core"));
        }
        if arguments.format != SymbolizeFormat::Llvm {
            objects.iter().try_for_each(|path| check_object(path))?;
        }
        Ok(Inputs {
            objects,
            reads_standard_input: addresses.is_empty() || !standard.is_empty(),
            addresses,
        })
    }

    /// Answers all lines. If the next line has not arrived yet, the answers are written before.
    ///
    /// * `step`: called after each line.
    fn each<W: Write>(
        &self,
        out: &mut W,
        step: &mut dyn FnMut(),
        mut answer: impl FnMut(&[u8], &mut W) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        for address in &self.addresses {
            answer(address.as_os_str().as_encoded_bytes(), out)?;
            step();
        }
        if !self.reads_standard_input {
            return Ok(());
        }
        out.flush()?;
        let wrong = |error: std::io::Error| Failure::new(format!("standard input: {error}"));
        let mut lines = Lines::open(None).map_err(wrong)?;
        while let Some(line) = lines.next() {
            answer(&line.map_err(wrong)?, out)?;
            step();
            if lines.may_wait() {
                out.flush()?;
            }
        }
        Ok(())
    }
}

/// Fails with a hint if an argument is neither an address nor a code object, for example a log, or a number without `0x`.
fn check_object(given: &Path) -> Result<(), Failure> {
    let (path, _) = object_and_load(given);
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !path.exists() && path.to_str().is_some_and(is_number) {
        let message = "there is no such file; an address begins with 0x";
        return Err(Failure::in_file(path, message));
    }
    if let Some((file, load)) = path.to_str().and_then(|text| text.rsplit_once('@'))
        && !path.exists()
        && Path::new(file).exists()
    {
        let load = Untrusted::from(load);
        let message = format!("`{load}` is not a load address; write @0x and hexadecimal digits");
        return Err(Failure::in_file(Path::new(file), message));
    }
    match Contents::start(path) {
        Ok(start) if !start.is_empty() && !start.contains(&0) && !may_hold_code_objects(&start) => {
            let message = "this is text, not a code object; to translate the addresses in a log, use --filter < LOG";
            Err(Failure::in_file(path, message))
        }
        // Other problems are found when it is opened.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns true if an argument is an address and not a path.
fn is_address(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|text| !text.contains('/') && Request::parse(text).is_some())
}

/// The state of answering requests.
struct Answers<'s, 'p, 'a, 'e> {
    symbolizer: &'s Symbolizer<'p, 'a>,
    lookups: Lookups<'s, 'p, 'a>,
    shape: Shape,
    err: &'e mut dyn Write,
    problems: BTreeSet<String>,
    has_problem: bool,
    is_ambiguous: bool,
    /// The number of addresses of the process at which nothing is known, and the first of them.
    without_code: (u64, Option<ProcessAddress>),
    has_found_code: bool,
}

/// An address that was looked up.
struct Answer {
    address: ProcessAddress,
    /// The code objects that contain it.
    objects: Vec<usize>,
    symbolized: Symbolized,
}

/// The JSON object for a line that is not an address.
#[derive(Serialize)]
struct OtherLine<'l> {
    text: &'l str,
}

impl<'s, 'p, 'a, 'e> Answers<'s, 'p, 'a, 'e> {
    fn new(
        symbolizer: &'s Symbolizer<'p, 'a>,
        shape: Shape,
        err: &'e mut dyn Write,
    ) -> Answers<'s, 'p, 'a, 'e> {
        Answers {
            symbolizer,
            lookups: symbolizer.lookups(),
            shape,
            err,
            problems: BTreeSet::new(),
            has_problem: false,
            is_ambiguous: false,
            without_code: (0, None),
            has_found_code: false,
        }
    }

    /// Warns if nothing is known about any address: a load address or a file is probably missing.
    fn warn_of_no_code(&mut self, advice: Advice) {
        let (count, Some(first)) = self.without_code else {
            return;
        };
        if self.has_found_code {
            return;
        }
        let addresses = match count {
            1 => format!("{:#x}", first.0),
            _ => format!("any of {count} addresses, such as {:#x}", first.0),
        };
        let advice = match advice {
            Advice::Load => {
                "; if the code was loaded at another address, give it as OBJECT@0x7f4000000000"
            }
            Advice::HostHalf => {
                "; the list of code objects is in the host's half of the core: add --core and its file"
            }
            Advice::None => "",
        };
        let _ = writeln!(
            self.err,
            "{WARNING}warning{WARNING:#}: no code is known at {addresses}{advice}"
        );
    }

    fn exit(&self) -> Exit {
        match (self.has_problem, self.is_ambiguous) {
            (true, _) => Exit::Incomplete,
            (false, true) => Exit::Negative,
            (false, false) => Exit::Done,
        }
    }

    /// Looks up an address. Returns None if there is no such code object or symbol.
    fn answer(&mut self, request: &Request<'_>) -> Option<Answer> {
        let place = match *request {
            Request::Process(address) => Err(ProcessAddress(address)),
            Request::Within(object, address) => Ok((object, address)),
            Request::Symbol(name, offset) => {
                let mut found = self.symbolizer.symbols_named(name);
                let (object, address, size) = found.next()?;
                let others: Vec<usize> = found.map(|(object, ..)| object).collect();
                if !others.is_empty() {
                    self.is_ambiguous = true;
                    return Some(Answer {
                        address: ProcessAddress(offset),
                        objects: [object].into_iter().chain(others).collect(),
                        symbolized: Symbolized::default(),
                    });
                }
                let is_within = size == 0 || offset < size;
                let address = address.0.checked_add(offset).filter(|_| is_within)?;
                Ok((object, address))
            }
        };
        let answer = match place {
            Ok((object, address)) => {
                let (_, load_address) = self.symbolizer.program(object)?;
                Answer {
                    address: load_address.to_process(address.into()),
                    objects: vec![object],
                    symbolized: self.lookups.within(object, address),
                }
            }
            Err(address) => Answer {
                address,
                objects: self.symbolizer.objects_at(address),
                symbolized: self.lookups.at(address),
            },
        };
        self.is_ambiguous |= answer.objects.len() > 1;
        let found = &answer.symbolized;
        match (found.frames.is_empty() && found.symbol.is_none(), place) {
            (false, _) => self.has_found_code = true,
            (true, Err(address)) => {
                let (count, first) = self.without_code;
                self.without_code = (count.saturating_add(1), first.or(Some(address)));
            }
            (true, Ok(_)) => {}
        }
        if let Some(problem) = &answer.symbolized.problem {
            self.note(problem);
        }
        let symbolized = self.shape.apply(answer.symbolized);
        Some(Answer {
            symbolized,
            ..answer
        })
    }

    /// Prints a problem the first time it occurs.
    fn note(&mut self, problem: &hetdwarf::Error) {
        self.has_problem = true;
        let text = problem.to_string();
        if self.problems.len() < MOST_PROBLEMS && !self.problems.contains(&text) {
            let shown = Untrusted::from(text.as_str());
            let _ = writeln!(self.err, "{WARNING}warning{WARNING:#}: {shown}");
            self.problems.insert(text);
        }
    }

    fn json(&mut self, line: &[u8], out: &mut dyn Write) -> Result<(), Failure> {
        let line = String::from_utf8_lossy(line.trim_ascii_end());
        let answer = Request::parse(&line).and_then(|request| self.answer(&request));
        let text = match answer {
            Some(answer) => {
                let Answer {
                    address,
                    objects,
                    symbolized,
                } = answer;
                to_json(&SymbolizedDocument::new(address, &objects, &symbolized))?
            }
            None => to_json(&OtherLine { text: &line })?,
        };
        Ok(writeln!(out, "{text}")?)
    }
}
