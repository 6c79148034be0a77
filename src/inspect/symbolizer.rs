//! Finds functions, files and lines for many addresses of a process with several code objects.
//!
//! The frames of an address equal [`StopFrame::description`](super::StopFrame::description), for code without a stop.
//!
//! ```
//! use hetdwarf::arch::LoadAddress;
//! use hetdwarf::inspect::Symbolizer;
//! use hetdwarf::prelude::*;
//!
//! let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
//! let object = CodeObject::parse(&file)?;
//! let program = Program::load(&object)?;
//! let symbolizer = Symbolizer::new([(&program, LoadAddress(0x7f40_0000_0000))]);
//!
//! let found = symbolizer.symbolize(0x7f40_0000_1a1c);
//! for frame in &found.frames {
//!     println!("{:?} at {:?}:{:?}", frame.function, frame.file, frame.line);
//! }
//! assert_eq!(found.object, Some(0));
//!
//! // Many addresses: each is looked up once.
//! let lines = symbolizer.symbolize_all(&[0x7f40_0000_1a20, 0x7f40_0000_1a1c, 0x7f40_0000_1a20], |found| {
//!     found.frames.first().and_then(|frame| frame.line)
//! });
//! assert_eq!(lines[0], lines[2]);
//! assert_eq!(lines[1], found.frames[0].line);
//! # Ok::<(), hetdwarf::Error>(())
//! ```

use core::ops::Range;

use super::{FrameDescription, Program, Programs};
use crate::arch::{CodeAddress, LoadAddress, ProcessAddress};
use crate::debug_info::SourceFrames;
use crate::error::{Error, Result};
use crate::meter::Meter;

/// The steps allowed for each of many addresses. They also share the budget of one query.
const PER_ADDRESS: u64 = 1 << 10;

/// The programs of code objects at their load addresses, for looking up addresses of the process.
#[derive(Debug)]
pub struct Symbolizer<'p, 'a> {
    programs: Vec<Option<(&'p Program<'a>, LoadAddress)>>,
    /// The addresses of the code objects, sorted.
    ranges: Vec<LoadedRange>,
}

/// The address range of a loaded code object.
#[derive(Debug)]
struct LoadedRange {
    range: Range<ProcessAddress>,
    /// The highest end of this range and those before it.
    reach: ProcessAddress,
    object: usize,
}

/// An address with its functions and lines.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Symbolized {
    /// The number of the code object that contains the address, or `None` if there is none or several.
    pub object: Option<usize>,
    /// The address in that code object.
    pub address: Option<CodeAddress>,
    /// The frames, innermost first and the function last, or none if nothing is known about the address.
    pub frames: Vec<FrameDescription>,
    /// The ELF symbol that covers the address, and the distance from it in bytes.
    pub symbol: Option<(String, u64)>,
    /// The error that prevented reading frames. Only the symbol is available then.
    pub problem: Option<Error>,
}

impl<'p, 'a> Symbolizer<'p, 'a> {
    /// Creates a symbolizer for programs at their load addresses. They are numbered from 0.
    #[must_use]
    pub fn new(
        programs: impl IntoIterator<Item = (&'p Program<'a>, LoadAddress)>,
    ) -> Symbolizer<'p, 'a> {
        Symbolizer::of(programs.into_iter().map(Some).collect())
    }

    fn of(programs: Vec<Option<(&'p Program<'a>, LoadAddress)>>) -> Symbolizer<'p, 'a> {
        let mut ranges = Vec::new();
        for (object, loaded) in programs.iter().enumerate() {
            let Some((program, load_address)) = loaded else {
                continue;
            };
            for range in loaded_ranges(program) {
                let start = load_address.checked_to_process(CodeAddress(range.start));
                let end = load_address.checked_to_process(CodeAddress(range.end));
                if let Some((start, end)) = start.zip(end) {
                    ranges.push(LoadedRange {
                        range: start..end,
                        reach: end,
                        object,
                    });
                }
            }
        }
        ranges.sort_by_key(|range| (range.range.start, range.object));
        let mut reach = ProcessAddress(0);
        for range in &mut ranges {
            reach = reach.max(range.range.end);
            range.reach = reach;
        }
        Symbolizer { programs, ranges }
    }

    /// Returns the program with a number and its load address, or `None` if its file is unknown.
    #[must_use]
    pub fn program(&self, object: usize) -> Option<(&'p Program<'a>, LoadAddress)> {
        *self.programs.get(object)?
    }

    /// Returns the number of code objects.
    #[must_use]
    pub fn object_count(&self) -> usize {
        self.programs.len()
    }

    /// Returns the numbers of the code objects that have an address in a loaded segment, ascending. A single code object has every address from its
    /// load address on.
    #[must_use]
    pub fn objects_at(&self, address: impl Into<ProcessAddress>) -> Vec<usize> {
        let address = address.into();
        if let [Some((_, load_address))] = &*self.programs {
            let is_below = load_address.checked_to_code(address).is_none();
            return if is_below { Vec::new() } else { vec![0] };
        }
        let after = (self.ranges).partition_point(|range| range.range.start <= address);
        let before = self.ranges.get(..after).unwrap_or_default().iter().rev();
        let reaching = before.take_while(|range| range.reach > address);
        let covering = reaching.filter(|range| range.range.contains(&address));
        let mut objects: Vec<usize> = covering.map(|range| range.object).collect();
        objects.sort_unstable();
        objects.dedup();
        objects
    }

    /// Returns the functions with a name in the symbol table: the number of the code object, the address in it and the size.
    pub fn symbols_named(&self, name: &str) -> impl Iterator<Item = (usize, CodeAddress, u64)> {
        let programs = self.programs.iter().enumerate();
        programs.flat_map(move |(object, loaded)| {
            let named = loaded.map_or(&[][..], |(program, _)| {
                program.function_symbols().named(name)
            });
            let place = move |symbol: &&crate::object::Symbol<'_>| {
                (object, CodeAddress(symbol.address), symbol.size)
            };
            named.iter().map(place)
        })
    }

    /// Looks up an address of the process.
    #[must_use]
    pub fn symbolize(&self, address: impl Into<ProcessAddress>) -> Symbolized {
        self.lookups().at(address)
    }

    /// Looks up an address of a code object by its number.
    #[must_use]
    pub fn symbolize_in(&self, object: usize, address: impl Into<CodeAddress>) -> Symbolized {
        self.lookups().within(object, address)
    }

    /// Looks up many addresses of the process in ascending order, each once, and returns the results of `answer` in the order of `addresses`. They
    /// share one budget, which grows with their number.
    pub fn symbolize_all<T: Clone>(
        &self,
        addresses: &[u64],
        mut answer: impl FnMut(&Symbolized) -> T,
    ) -> Vec<T> {
        let mut order: Vec<usize> = (0..addresses.len()).collect();
        let address_of = |number: &usize| addresses.get(*number).copied();
        order.sort_unstable_by_key(address_of);
        let mut lookups = self.lookups();
        let mut answers: Vec<Option<T>> = addresses.iter().map(|_| None).collect();
        let mut last: Option<(u64, T)> = None;
        for number in order {
            let Some(address) = address_of(&number) else {
                continue;
            };
            let made = match last.take() {
                Some((known, made)) if known == address => made,
                _ => answer(&lookups.at(address)),
            };
            if let Some(slot) = answers.get_mut(number) {
                *slot = Some(made.clone());
            }
            last = Some((address, made));
        }
        answers.into_iter().flatten().collect()
    }

    /// Begins lookups of many addresses, one after the other.
    #[must_use]
    pub fn lookups(&self) -> Lookups<'_, 'p, 'a> {
        Lookups {
            symbolizer: self,
            meters: self.programs.iter().map(|_| None).collect(),
        }
    }
}

impl<'p> Symbolizer<'p, 'p> {
    /// Creates a symbolizer for the code objects of a process, with the same numbers. A code object with an unknown or unreadable file has no
    /// addresses.
    #[must_use]
    pub fn of_process(programs: &'p Programs<'p>) -> Symbolizer<'p, 'p> {
        let objects = programs.process().objects().iter().enumerate();
        let loaded = objects.map(|(index, object)| {
            let program = programs.get(index)?.ok()?;
            Some((program, object.load_address))
        });
        Symbolizer::of(loaded.collect())
    }
}

/// Returns the addresses that a code object occupies in memory, or the addresses of its code if it is not linked.
fn loaded_ranges(program: &Program<'_>) -> Vec<Range<u64>> {
    let object = program.object();
    if !object.is_relocatable() {
        return object.load_segments().collect();
    }
    let code = (object.sections().iter()).filter(|section| section.executable);
    let range = |section: &crate::object::Section<'_>| Some(section.address..section.end()?);
    code.filter_map(range).collect()
}

/// Look-ups of many addresses within one budget, which grows with their number.
#[derive(Debug)]
pub struct Lookups<'s, 'p, 'a> {
    symbolizer: &'s Symbolizer<'p, 'a>,
    /// The meter of each program.
    meters: Vec<Option<Meter>>,
}

impl<'p, 'a> Lookups<'_, 'p, 'a> {
    /// Looks up an address of the process.
    #[must_use]
    pub fn at(&mut self, address: impl Into<ProcessAddress>) -> Symbolized {
        let address = address.into();
        let [object] = *self.symbolizer.objects_at(address) else {
            return Symbolized::default();
        };
        let Some((_, load_address)) = self.symbolizer.program(object) else {
            return Symbolized::default();
        };
        self.within(object, load_address.to_code(address))
    }

    /// Looks up an address of a code object by its number.
    #[must_use]
    pub fn within(&mut self, object: usize, address: impl Into<CodeAddress>) -> Symbolized {
        let address = address.into();
        let frames = self.ask(object, |program, meter| {
            program.describe_address(address.0, meter)
        });
        let Some((program, frames)) = frames else {
            return Symbolized::default();
        };
        let (frames, problem) = match frames {
            Ok(frames) => (frames, None),
            Err(error) => {
                let symbol = program.describe_symbol_at(address.0);
                (symbol.into_iter().collect(), Some(error))
            }
        };
        let symbol = program.symbol_at(address.0);
        Symbolized {
            object: Some(object),
            address: Some(address),
            frames,
            symbol: symbol.map(|(name, offset)| (name.to_owned(), offset)),
            problem,
        }
    }

    /// Returns the frames at an address of a code object from its debugging information: without symbols, and with line 0 if a row has it. Returns
    /// `None` if the file of the code object is unknown.
    ///
    /// # Errors
    /// Fails like [`DebugInfo::source_frames`](crate::debug_info::DebugInfo::source_frames), or if the budget is exceeded.
    pub fn source_frames(
        &mut self,
        object: usize,
        address: impl Into<CodeAddress>,
    ) -> Option<Result<SourceFrames<'p, 'a>>> {
        let CodeAddress(address) = address.into();
        let asked = self.ask(object, |program, meter| {
            program.info().source_frames_within(address, meter)
        });
        asked.map(|(_, frames)| frames)
    }

    /// Runs a query to a program about one address.
    fn ask<T>(
        &mut self,
        object: usize,
        question: impl FnOnce(&'p Program<'a>, &Meter) -> Result<T>,
    ) -> Option<(&'p Program<'a>, Result<T>)> {
        let (program, _) = self.symbolizer.program(object)?;
        let meter = self.meters.get_mut(object)?;
        let meter = meter.get_or_insert_with(|| program.info().for_query());
        let before = meter.steps();
        let answer = question(program, meter);
        meter.refund_steps(meter.steps().saturating_sub(before).min(PER_ADDRESS));
        Some((program, answer))
    }
}
