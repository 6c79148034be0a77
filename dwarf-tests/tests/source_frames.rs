//! Compares the source positions of addresses with addr2line 0.27 over the corpus, and the answers of several concurrent threads.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure here is a failure of the test"
)]

use std::path::{Path, PathBuf};

use addr2line::Context;
use dwarf_tests::{corpus, fixture, of_producers};
use gimli::{EndianSlice, LittleEndian};
use hetdwarf::debug_info::DebugInfo;
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;

/// A frame: the offset of its entry in the unit, and the file, line and column, as far as they are known.
type Frame = (Option<usize>, Option<String>, Option<u64>, Option<u64>);

fn ours(info: &DebugInfo<'_>, pc: u64) -> Vec<Frame> {
    let frames = info.source_frames(pc).unwrap().map(|frame| {
        let offset = frame.die().map(|die| {
            let unit = info.unit_info(die.unit).unwrap();
            usize::try_from(die.offset - unit.offset).unwrap()
        });
        let file = frame.file().map(|file| file.path.to_string());
        (offset, file, frame.line(), frame.column())
    });
    frames.collect()
}

fn theirs(context: &Context<EndianSlice<'_, LittleEndian>>, pc: u64) -> Vec<Frame> {
    let mut frames = context.find_frames(pc).skip_all_loads().unwrap();
    let mut found = vec![];
    while let Some(frame) = frames.next().unwrap() {
        let place = frame.location;
        let (file, line, column) = place.map_or((None, None, None), |place| {
            let line = place.line.filter(|line| *line != 0);
            // A line without a column has column 0.
            let column = place.column.filter(|column| *column != 0);
            (place.file.map(str::to_owned), line, column)
        });
        let offset = frame.dw_die_offset.map(|offset| offset.0);
        found.push((offset, file, line.map(Into::into), column.map(Into::into)));
    }
    found
}

/// Compares at the start of every row of a line table, and before it. Returns the number of addresses with a frame, and with an inlined
/// frame.
fn compare(path: &Path) -> (usize, usize) {
    let file = std::fs::read(path).unwrap();
    let Ok(object) = CodeObject::parse(&file) else {
        return (0, 0);
    };
    if object.is_relocatable() {
        return (0, 0);
    }
    let section = |name: &str| object.section(name).unwrap().unwrap_or_default();
    let sections =
        gimli::DwarfSections::load(|id| Ok::<_, gimli::Error>(section(id.name()))).unwrap();
    let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
    let context = Context::from_dwarf(dwarf).unwrap();
    let info = DebugInfo::load(|name| Ok(section(name))).unwrap();
    let (mut frames, mut inlined) = (0, 0);
    let mut addresses = vec![];
    for unit in info.unit_ids() {
        if let Ok(Some(table)) = info.line_table(unit) {
            let rows = table.rows();
            addresses.extend(rows.flat_map(|row| [row.address.saturating_sub(1), row.address]));
        }
    }
    addresses.sort_unstable();
    addresses.dedup();
    for pc in addresses {
        let ours = ours(&info, pc);
        assert_eq!(ours, theirs(&context, pc), "{} {pc:#x}", path.display());
        frames += usize::from(!ours.is_empty());
        inlined += ours.len().saturating_sub(1);
    }
    (frames, inlined)
}

#[test]
fn addr2line_says_the_same() {
    let mut sum = (0, 0);
    for path in corpus().into_iter().chain(of_producers()) {
        let (frames, inlined) = compare(&path);
        sum = (sum.0 + frames, sum.1 + inlined);
    }
    assert!(sum.0 > 10_000 && sum.1 > 5_000, "{sum:?}");
}

/// Returns the values of all variables of all frames of a stop, in lane 3.
fn values(program: &Program<'_>, wave: &Snapshot) -> Vec<String> {
    let levels = 0..;
    let frames = levels.map_while(|level| values_of_frame(program, wave, level));
    frames.flatten().collect()
}

/// Returns the values of all variables of a call frame, in lane 3, and its hidden arguments. Returns `None` if there is no such frame.
fn values_of_frame(program: &Program<'_>, wave: &Snapshot, level: usize) -> Option<Vec<String>> {
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address);
    let stop = Stop::new(program, wave, wave.pc(), options, &arena);
    let frame = stop.call_frame(level)?;
    let mut texts = vec![format!("{:?}", frame.line().unwrap())];
    let hidden = frame.hidden_arguments().unwrap();
    texts.extend(hidden.iter().map(|one| format!("{one:?}")));
    let mut types = Default::default();
    for value in frame.variables(&mut types).unwrap() {
        let text = value.text(hetdwarf::arch::Lane(3), &types, &Default::default());
        texts.push(format!("{:?} {text:?}", value.variable.name));
    }
    Some(texts)
}

#[test]
fn several_threads_ask_one_program() {
    let folder = fixture("waves/calls-O2");
    let file = std::fs::read(folder.join("calls-O2.rocm.hsaco")).unwrap();
    let wave = Snapshot::from_json(&std::fs::read(folder.join("w06.json")).unwrap()).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let expected = values(&Program::load(&object).unwrap(), &wave);
    assert!(expected.len() > 15, "{expected:?}");
    // The threads start with a program from which nothing has been read.
    let program = Program::load(&object).unwrap();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..10).map(|_| values(&program, &wave)).collect::<Vec<_>>()))
            .collect();
        for thread in threads {
            for values in thread.join().unwrap() {
                assert_eq!(values, expected);
            }
        }
    });
}

#[test]
fn earlier_queries_do_not_change_an_answer() {
    let folders = std::fs::read_dir(fixture("waves")).unwrap();
    let (mut frames, mut callers) = (0, 0);
    for folder in folders.map(|entry| entry.unwrap().path()) {
        let Some(object) = files(&folder, "hsaco").pop() else {
            continue;
        };
        let file = std::fs::read(object).unwrap();
        let object = CodeObject::parse(&file).unwrap();
        for path in files(&folder, "json") {
            let Ok(wave) = Snapshot::from_json(&std::fs::read(&path).unwrap()) else {
                continue;
            };
            // One program answers all queries; its inner frames were read before.
            let program = Program::load(&object).unwrap();
            for level in 0.. {
                let Some(found) = values_of_frame(&program, &wave, level) else {
                    break;
                };
                let again = values_of_frame(&program, &wave, level);
                assert_eq!(again.as_ref(), Some(&found), "{}, {level}", path.display());
                let fresh = Program::load(&object).unwrap();
                let alone = values_of_frame(&fresh, &wave, level);
                assert_eq!(alone, Some(found), "{}, {level}", path.display());
                frames += 1;
                callers += usize::from(level > 0);
            }
        }
    }
    assert!(frames > 100 && callers > 30, "{frames} {callers}");
}

/// Returns the files of a folder with an extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return vec![];
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|one| one == extension))
        .collect();
    files.sort();
    files
}
