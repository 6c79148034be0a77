//! Compares functions, files, lines, columns and inlined calls at addresses with llvm-symbolizer 22.
//!
//! Addresses are queried as stops, so the comparison covers `unwind` and all other commands. Each kind of difference is a rule of
//! [`Difference`] here, and is justified in `spec-notes/frames.md`. [`Symbolizer`] must give equal answers, and `command` compares the
//! output of `hetdwarf symbolize --format llvm`.

mod command;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dwarf_tests::{corpus, fixture, lane_cases, samples, wave_cases};
use hetdwarf::arch::{LoadAddress, WaveSize};
use hetdwarf::debug_info::{DieId, Row};
use hetdwarf::inspect::{FrameDescription, FrameKind, Program, Stop, StopOptions, Symbolizer};
use hetdwarf::location::Arena;
use hetdwarf::object::{CodeObject, SymbolKind};
use hetdwarf::wave::Snapshot;
use rayon::prelude::*;
use serde_json::Value;

/// A frame: the function, file, line and column, as far as they are known.
type Frame = (Option<String>, Option<String>, Option<u64>, Option<u64>);

/// The kinds of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// A row has line 0, and the row before it with a line belongs to another function or inlined call. llvm-symbolizer shows that line in
    /// this function. hetdwarf shows the nearest line of this function, or none.
    LineOfAnotherFunction,
    /// The sections use GNU's compression from before ELF supported it (`.zdebug_…`), which llvm-symbolizer does not read.
    OldCompression,
    /// The line table has no files. llvm-symbolizer shows no line without a file.
    NoFiles,
    /// Several symbols have the address of the function, because a linker folded equal code. llvm-symbolizer shows the name of the last
    /// one. hetdwarf shows the name of the function with the line.
    FoldedName,
    /// The object is not linked, and the symbols of all its sections count from 0. llvm-symbolizer names code by a symbol of data.
    NameOfData,
    /// The symbol table has the labels of blocks, without a type and a size. llvm-symbolizer names code by the nearest label.
    NameOfLabel,
}

/// Returns all code objects of the fixtures.
fn objects() -> Vec<PathBuf> {
    let mut all = corpus();
    let folders = [
        "annotate",
        "frames",
        "object",
        "print",
        "producers",
        "shapes",
        "debug_info",
    ];
    let folders = folders.into_iter().map(fixture);
    for folder in folders.chain(wave_cases()).chain(lane_cases()) {
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let extensions = ["hsaco", "elf", "o", "linked"];
        all.extend(paths.filter(|path| {
            extensions
                .iter()
                .any(|it| path.extension() == Some(it.as_ref()))
        }));
    }
    // llvm-symbolizer 22 cannot read DWARF 6.
    all.retain(|path| !path.ends_with("dwarf6-as-6.hsaco"));
    all.sort();
    all
}

/// A generator of the same random numbers in every run. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// 2014.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Returns `count` random addresses of the code, or all instructions if there are fewer.
fn addresses(object: &CodeObject<'_>, count: usize) -> BTreeSet<u64> {
    let code = object
        .sections()
        .iter()
        .filter(|section| section.executable);
    let ranges: Vec<_> = code
        .filter_map(|section| Some(section.address..section.end()?))
        .collect();
    let size: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    let at = |mut offset: u64| {
        for range in &ranges {
            let length = range.end - range.start;
            if offset < length {
                return range.start + offset;
            }
            offset -= length;
        }
        unreachable!("an offset is below the sum of the lengths")
    };
    if size / 4 <= count as u64 {
        return (0..size / 4).map(|word| at(word * 4)).collect();
    }
    let mut numbers = SplitMix(size);
    (0..count).map(|_| at(numbers.next() % size)).collect()
}

/// Returns llvm-symbolizer's frames of each address, the innermost first.
fn theirs(path: &Path, addresses: &BTreeSet<u64>, options: &[&str]) -> BTreeMap<u64, Vec<Frame>> {
    let mut child = Command::new("llvm-symbolizer-22")
        .args([
            "--output-style=JSON",
            "--inlines",
            "--no-demangle",
            "--no-debuginfod",
        ])
        .args(options)
        .arg("--obj")
        .arg(path)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text: String = addresses.iter().map(|pc| format!("{pc:#x}\n")).collect();
    let mut input = child.stdin.take().unwrap();
    // llvm-symbolizer answers while it still reads requests.
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let found: BTreeMap<u64, Vec<Frame>> = lines
        .lines()
        .map(|line| {
            let answer: Value = serde_json::from_str(line).unwrap();
            let text = |value: &Value| {
                let text = value.as_str().unwrap().to_owned();
                (!text.is_empty()).then_some(text)
            };
            let number = |value: &Value| value.as_u64().filter(|number| *number != 0);
            let frames = answer["Symbol"].as_array().cloned().unwrap_or_default();
            let frames = frames.iter().map(|frame| {
                let line = number(&frame["Line"]);
                // There is no column without a line.
                let column = line.and(number(&frame["Column"]));
                (
                    text(&frame["FunctionName"]),
                    text(&frame["FileName"]),
                    line,
                    column,
                )
            });
            let pc = answer["Address"].as_str().unwrap().trim_start_matches("0x");
            (u64::from_str_radix(pc, 16).unwrap(), frames.collect())
        })
        .collect();
    assert_eq!(found.len(), addresses.len(), "{}", path.display());
    found
}

/// Returns the line and the column of a row, as in a frame.
fn position(row: &Row) -> (Option<u64>, Option<u64>) {
    (Some(row.line), (row.column != 0).then_some(row.column))
}

/// A compared object.
struct Subject<'p, 'a> {
    program: &'p Program<'a>,
    /// The rows of each sequence of the line tables.
    sequences: Vec<Vec<Row>>,
    is_compressed_the_old_way: bool,
}

impl<'p, 'a> Subject<'p, 'a> {
    fn new(program: &'p Program<'a>) -> Subject<'p, 'a> {
        let info = program.info();
        let mut sequences = Vec::new();
        // Units can share a table.
        for unit in info.unit_ids() {
            if let Ok(Some(table)) = info.line_table(unit) {
                let rows: Vec<Row> = table.rows().collect();
                let rows = rows.split_inclusive(|row| row.end_sequence);
                sequences.extend(rows.map(<[Row]>::to_vec));
            }
        }
        let sections = program.object().sections();
        Subject {
            program,
            sequences,
            is_compressed_the_old_way: sections.iter().any(|it| it.name.starts_with(".zdebug")),
        }
    }

    /// Unwinds a stop at an address. Returns the address for lookups, and the frames.
    fn ours(&self, pc: u64) -> (u64, Vec<FrameDescription>) {
        let processor = self.program.processor();
        let size = processor.default_wave_size().unwrap_or(WaveSize::Wave64);
        let wave = Snapshot::new(processor.name(), size, pc);
        let arena = Arena::new();
        // Callers are not compared.
        let options = StopOptions::default().only_dwarf(true);
        let stop = Stop::new(self.program, &wave, wave.pc(), options, &arena);
        let call = stop.call_frame(0).unwrap();
        let parts = call
            .parts()
            .unwrap()
            .map(|part| part.description().unwrap());
        // A stop after a trap counts as a stop at the trap.
        (call.call_frame().lookup_address(), parts.collect())
    }

    /// Returns the functions and inlined calls at an address, or the symbol if the code has no debugging information.
    fn scopes(&self, pc: u64) -> (Vec<Option<DieId>>, Option<&str>) {
        let frames = self.program.info().source_frames(pc).unwrap();
        let dies: Vec<_> = frames.map(|frame| frame.die()).collect();
        let has_function = dies.iter().any(Option::is_some);
        let symbol = self.program.symbol_at(pc).map(|(name, _)| name);
        (dies, symbol.filter(|_| !has_function))
    }

    /// Returns the reason why a function has another name than its symbol.
    fn other_name(&self, ours: Option<&str>, theirs: Option<&str>) -> Option<Difference> {
        let object = self.program.object();
        let symbols = object.symbols().unwrap_or_default();
        let find = |name: Option<&str>| symbols.iter().find(|symbol| Some(&*symbol.name) == name);
        let theirs = find(theirs)?;
        if theirs.kind == SymbolKind::None && theirs.size == 0 && !object.is_relocatable() {
            return Some(Difference::NameOfLabel);
        }
        if theirs.kind == SymbolKind::Object && object.is_relocatable() {
            return Some(Difference::NameOfData);
        }
        let ours = find(ours)?;
        let are_functions = [ours, theirs].map(|it| it.kind == SymbolKind::Function);
        match (are_functions, object.is_relocatable()) {
            ([true, true], _) if ours.address == theirs.address => Some(Difference::FoldedName),
            ([true, false], true) => Some(Difference::NameOfData),
            _ => None,
        }
    }

    /// For a row with line 0, returns the nearest row before it with a line, and the nearest row of the same function and inlined call.
    fn rows_before(&self, pc: u64) -> Option<(Row, Option<Row>)> {
        let contains = |rows: &&Vec<Row>| {
            let ends = rows.first().zip(rows.last());
            ends.is_some_and(|(first, last)| (first.address..last.address).contains(&pc))
        };
        let rows = self.sequences.iter().find(contains)?;
        let before = &rows[..rows.partition_point(|row| row.address <= pc)];
        if before.last()?.line != 0 {
            return None;
        }
        let mut with_line = before.iter().rev().filter(|row| row.line != 0);
        let nearest = with_line.clone().next()?;
        let scopes = self.scopes(pc);
        let is_in_a_function = scopes.0.iter().any(Option::is_some) || scopes.1.is_some();
        let own = with_line.find(|row| is_in_a_function && self.scopes(row.address) == scopes);
        Some((*nearest, own.copied()))
    }

    /// Returns the reason why frames differ. Returns `None` if they must be equal.
    fn difference(
        &self,
        pc: u64,
        (ours, theirs): (&[Frame], &[Frame]),
        is_approximate: bool,
    ) -> Option<Difference> {
        let says_nothing = theirs == [(None, None, None, None)];
        if self.is_compressed_the_old_way {
            return says_nothing.then_some(Difference::OldCompression);
        }
        let ((innermost, outer), (their_innermost, their_outer)) =
            (ours.split_first()?, theirs.split_first()?);
        if innermost.1.is_none() && innermost.2.is_some() {
            return says_nothing.then_some(Difference::NoFiles);
        }
        if outer != their_outer || innermost.0 != their_innermost.0 {
            return None;
        }
        let (nearest, own) = self.rows_before(pc)?;
        let expected = own.as_ref().map_or((None, None), position);
        let is_right = (innermost.2, innermost.3) == expected
            && is_approximate == own.is_some()
            && (their_innermost.2, their_innermost.3) == position(&nearest)
            && self.scopes(nearest.address) != self.scopes(pc);
        is_right.then_some(Difference::LineOfAnotherFunction)
    }
}

/// Compares an object at a number of addresses.
fn compare(path: &Path, count: usize, sums: &mut Sums) {
    let file = std::fs::read(path).unwrap();
    let Ok(object) = CodeObject::parse(&file) else {
        return;
    };
    // llvm-symbolizer places every code section of an unlinked object at 0. The linked objects are fixtures too.
    let code = object
        .sections()
        .iter()
        .filter(|it| it.executable && it.size > 0);
    if object.is_relocatable() && code.count() > 1 {
        sums.not_linked += 1;
        return;
    }
    let program = Program::load(&object).unwrap();
    let subject = Subject::new(&program);
    let asked = addresses(&object, count);
    let ours: BTreeMap<u64, Vec<FrameDescription>> =
        asked.into_iter().map(|pc| subject.ours(pc)).collect();
    let pcs: BTreeSet<u64> = ours.keys().copied().collect();
    check_symbolizer(path, &program, &ours);
    let places = theirs(path, &pcs, &["--functions=short", "--skip-line-zero"]);
    let names = theirs(path, &pcs, &["--functions=linkage"]);
    for (pc, ours) in &ours {
        let at = format!("{} {pc:#x}", path.display());
        let shown: Vec<Frame> = ours
            .iter()
            .map(|frame| {
                let function = frame.function.clone();
                let function = function.filter(|_| frame.kind != FrameKind::Symbol);
                let file = frame.file.as_ref().map(|file| file.path.to_string());
                (function, file, frame.line, frame.column)
            })
            .collect();
        // llvm-symbolizer's answer for line 0 can be the line of another function, so it is not the reference.
        let own = subject.rows_before(*pc).and_then(|(_, own)| own);
        let place = (shown[0].2, shown[0].3);
        if ours[0].is_approximate && own.as_ref().map(position) != Some(place) {
            sums.wrong.push(format!("{at}\n  {place:?} is approximate"));
        }
        if shown != places[pc] {
            let pair = (&*shown, &*places[pc]);
            match subject.difference(*pc, pair, ours[0].is_approximate) {
                Some(difference) => *sums.differences.entry(difference).or_default() += 1,
                None => sums.wrong.push(format!("{at}\n  {pair:?}")),
            }
        }
        // Compare the linkage names. The outermost frame has the name of the symbol, if there is one.
        let symbol = program.symbol_at(*pc).map(|(name, _)| name.to_owned());
        for (number, (frame, named)) in ours.iter().zip(&names[pc]).enumerate() {
            let own = frame.linkage_name.clone().or(frame.function.clone());
            let is_last = number + 1 == ours.len();
            let is_symbol = is_last && named.0 == symbol;
            if subject.is_compressed_the_old_way || named.0 == own || is_symbol {
                continue;
            }
            match subject.other_name(symbol.as_deref(), named.0.as_deref()) {
                Some(difference) if is_last => {
                    *sums.differences.entry(difference).or_default() += 1;
                }
                _ => sums
                    .wrong
                    .push(format!("{at}\n  {own:?}, {symbol:?}, {:?}", named.0)),
            }
        }
        sums.asked += 1;
        sums.inlined += shown.len() - 1;
        sums.approximate += usize::from(ours[0].is_approximate);
    }
    sums.objects += 1;
}

/// Looks up the same addresses in the process, each twice and in random order.
fn check_symbolizer(
    path: &Path,
    program: &Program<'_>,
    expected: &BTreeMap<u64, Vec<FrameDescription>>,
) {
    const LOADED: u64 = 0x7f40_0000_0000;
    let symbolizer = Symbolizer::new([(program, LoadAddress(LOADED))]);
    let mut asked: Vec<u64> = expected.keys().flat_map(|pc| [*pc, *pc]).collect();
    let mut numbers = SplitMix(asked.len() as u64);
    for end in (1..asked.len()).rev() {
        asked.swap(end, usize::try_from(numbers.next()).unwrap() % (end + 1));
    }
    let process: Vec<u64> = asked.iter().map(|pc| pc + LOADED).collect();
    let mut looked_up = 0;
    let found = symbolizer.symbolize_all(&process, |found| {
        looked_up += 1;
        assert!(found.problem.is_none(), "{:?}", found.problem);
        let symbol = program.symbol_at(found.address.unwrap().0);
        let symbol = symbol.map(|(name, offset)| (name.to_owned(), offset));
        assert_eq!(found.symbol, symbol);
        found.frames.clone()
    });
    assert_eq!(looked_up, expected.len());
    for (pc, found) in asked.iter().zip(found) {
        // A stop has a frame even if nothing is known about the address.
        let is_known = |frame: &FrameDescription| {
            frame.kind != FrameKind::Call || frame.function.is_some() || frame.unit.is_some()
        };
        let frames: Vec<_> = expected[pc]
            .iter()
            .filter(|frame| is_known(frame))
            .collect();
        let same = frames.iter().copied().eq(&found);
        // A stop after a trap has the distance of the address after the trap.
        let without_offset = |frame: &FrameDescription| {
            let mut frame = frame.clone();
            frame.symbol_offset = None;
            frame
        };
        let place =
            |frames: &[FrameDescription]| frames.iter().map(without_offset).collect::<Vec<_>>();
        let frames: Vec<FrameDescription> = frames.into_iter().cloned().collect();
        assert!(
            same || place(&frames) == place(&found),
            "{} {pc:#x}\n{frames:?}\n{found:?}",
            path.display()
        );
    }
}

/// The numbers of comparisons and differences.
#[derive(Debug, Default)]
struct Sums {
    objects: usize,
    not_linked: usize,
    asked: usize,
    inlined: usize,
    approximate: usize,
    differences: BTreeMap<Difference, usize>,
    wrong: Vec<String>,
}

impl Sums {
    fn add(&mut self, other: Sums) {
        self.objects += other.objects;
        self.not_linked += other.not_linked;
        self.asked += other.asked;
        self.inlined += other.inlined;
        self.approximate += other.approximate;
        for (difference, count) in other.differences {
            *self.differences.entry(difference).or_default() += count;
        }
        self.wrong.extend(other.wrong);
    }
}

/// Compares ten thousand addresses of each object, or all its instructions. Without `HETDWARF_THOROUGH` it is a twentieth of the addresses.
#[test]
fn frames_are_those_of_llvm_symbolizer() {
    if dwarf_tests::llvm_tool("llvm-symbolizer").is_none() {
        return;
    }
    let compared: Vec<Sums> = (objects().par_iter())
        .map(|path| {
            let mut sums = Sums::default();
            compare(path, samples(10_000, 500), &mut sums);
            sums
        })
        .collect();
    let mut sums = Sums::default();
    for compared in compared {
        sums.add(compared);
    }
    let Sums {
        objects,
        asked,
        inlined,
        approximate,
        differences,
        wrong,
        ..
    } = &sums;
    println!(
        "{objects} objects, {asked} addresses, {inlined} inlined, {approximate} approximate; {differences:?}"
    );
    assert!(
        wrong.is_empty(),
        "{}: {}",
        wrong.len(),
        wrong[..wrong.len().min(9)].join("\n")
    );
    assert_eq!(
        differences.len(),
        6,
        "a kind of difference is gone: {differences:?}"
    );
    assert!(*objects > 200);
    assert!(*asked > samples(200_000, 80_000));
    assert!(*inlined.min(approximate) > samples(15_000, 5000));
}
