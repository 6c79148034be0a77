//! Reads arbitrary bytes as call frame information.

use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{LoadAddress, Processor, Register, WaveSize};
use hetdwarf::eval::{Frame, LaneFocus, Reading};
use hetdwarf::expr::{Dialect, RegisterStyle};
use hetdwarf::frame::{
    Entry, Fde, FrameIndex, FramePrinter, FrameSection, Instruction, Instructions, Row, Rows,
    SectionKind, Unwind, unwind,
};
use hetdwarf::location::{Access, Arena, read};

use super::wave::Scrambled;

/// The address at which the section is loaded, for relative pointers.
const ADDRESS: u64 = 0x1_0000;

/// The most entries that are used.
const ENTRIES: usize = 64;

/// Reads the entries, their instructions and rows, finds rows by address, and unwinds from them.
///
/// The first byte chooses the section and the settings. The second is the seed of the wave.
///
/// # Panics
/// If entries overlap, if an instruction does not survive writing, if rows have gaps or go back, or if the row found by an address does not
/// cover it.
pub fn check(bytes: &[u8]) {
    let Some(([flags, seed], bytes)) = bytes.split_first_chunk() else {
        return;
    };
    let kind = if flags & 1 == 0 {
        SectionKind::DebugFrame
    } else {
        SectionKind::EhFrame
    };
    let address_size = if flags & 2 == 0 { 8 } else { 4 };
    let section = FrameSection::new(bytes, kind, ADDRESS, address_size);
    let fdes = entries(section);
    let index = FrameIndex::new(section);
    assert!(index.len() >= fdes.len());
    for fde in fdes.iter().take(8) {
        let rows = rows(fde, section.name());
        find(&index, fde, &rows);
    }
    let wave = Scrambled::new(
        if flags & 4 == 0 {
            WaveSize::Wave64
        } else {
            WaveSize::Wave32
        },
        *seed,
    );
    let reading = if flags & 8 == 0 {
        Reading::Tolerant
    } else {
        Reading::Strict
    };
    for fde in fdes.iter().take(4) {
        walk(&index, &wave, reading, fde.initial_location);
        walk(&index, &wave, reading, fde.end().wrapping_sub(1));
    }
}

/// Returns the FDEs. Prints every entry, and writes and reads its instructions.
fn entries(section: FrameSection<'_>) -> Vec<Fde<'_>> {
    let printer = FramePrinter::new(section, RegisterStyle::default(), Dialect::User);
    let mut entries = section.entries();
    let mut fdes = Vec::new();
    let mut last = None;
    for _ in 0..ENTRIES {
        let entry = match entries.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            Err(_) => continue,
        };
        let offset = match &entry {
            Entry::Cie(cie) => {
                assert_eq!(section.cie_at(cie.offset).as_ref(), Ok(cie));
                let bytes = cie.initial_instructions;
                instructions(bytes, cie.instructions_offset, cie.address_size);
                cie.offset
            }
            Entry::Fde(fde) => {
                assert_eq!(section.fde_at(fde.offset).as_ref(), Ok(fde));
                let bytes = fde.instructions;
                instructions(bytes, fde.instructions_offset, fde.cie.address_size);
                fde.offset
            }
            Entry::Terminator(offset) => *offset,
        };
        assert!(last < Some(offset), "entries follow each other");
        last = Some(offset);
        let mut text = String::new();
        let _ = printer.entry(&entry, &mut text);
        if let Entry::Fde(fde) = entry {
            fdes.push(fde);
        }
    }
    fdes
}

fn instructions(bytes: &[u8], offset: u64, address_size: u8) {
    let mut items = Instructions::new(bytes, offset, address_size, ".debug_frame");
    let mut written = Vec::new();
    let mut found: Vec<Instruction<'_>> = Vec::new();
    while let Ok(Some(item)) = items.next() {
        assert!(item.offset >= offset && item.offset < offset + bytes.len() as u64);
        item.instruction.encode(address_size, &mut written).unwrap();
        found.push(item.instruction);
    }
    let again = Instructions::new(&written, 0, address_size, ".debug_frame");
    let again: Vec<_> = again.map(|item| Ok(item.instruction)).collect().unwrap();
    assert_eq!(found, again);
}

/// Returns the rows up to the first error. Checks that they are contiguous and cover the entry.
fn rows<'a>(fde: &Fde<'a>, section: &'static str) -> Vec<Row<'a>> {
    let mut found: Vec<Row<'a>> = Vec::new();
    let Ok(mut rows) = Rows::new(fde, section) else {
        return found;
    };
    loop {
        match rows.next() {
            Ok(Some(row)) => {
                let start = found.last().map_or(fde.initial_location, |last| last.end);
                assert_eq!(row.start, start, "rows follow each other");
                assert!(row.end >= row.start);
                let registers = row.rules().iter().map(|(register, _)| *register);
                assert!(registers.is_sorted_by(|a, b| a < b));
                found.push(row.clone());
            }
            Ok(None) => {
                let end = found.last().map(|row| row.end);
                assert!(end >= Some(fde.end()), "the last row ends with the entry");
                return found;
            }
            Err(_) => return found,
        }
    }
}

/// Checks that looking up an address finds the row that covers it.
fn find<'a>(index: &FrameIndex<'a>, fde: &Fde<'a>, rows: &[Row<'a>]) {
    for row in rows.iter().filter(|row| row.start < row.end).take(16) {
        for pc in [row.start, row.end - 1] {
            let Ok(Some(found)) = index.find(pc) else {
                continue;
            };
            assert!(found.contains(pc), "{pc:#x}");
            if found.offset != fde.offset {
                continue;
            }
            let (_, found) = index
                .row_at(pc, None)
                .unwrap()
                .expect("a row that was there");
            assert!(found.start <= pc && pc < found.end);
            assert_eq!(found, *row, "{pc:#x}");
        }
    }
}

/// Unwinds, and reads the registers that the rules of each frame name.
fn walk(index: &FrameIndex<'_>, wave: &Scrambled, reading: Reading, pc: u64) {
    let arena = Arena::new();
    let mut start = Unwind::new(wave, index, LoadAddress(0), &arena);
    start.processor = Processor::by_name(if wave.seed & 1 == 0 {
        "gfx90a"
    } else {
        "gfx1100"
    });
    start.reading = reading;
    start.lane = LaneFocus::All;
    start.limits.frames = 6;
    start.limits.steps = 1 << 10;
    start.limits.stack = 64;
    start.limits.depth = 8;
    start.limits.parts = 128;
    start.limits.bits = 1 << 12;
    let stack = unwind(start, pc);
    assert!(stack.frames().len() <= 6);
    for (level, frame) in stack.frames().enumerate() {
        assert_eq!(frame.level(), level);
        let _ = frame.cfa();
        let rules = frame.row().map(Row::rules).unwrap_or_default();
        for (register, _) in rules.iter().take(32) {
            let Some(register) = Register::from_number(*register) else {
                continue;
            };
            let Ok((location, _)) = frame.recovered(register) else {
                continue;
            };
            let access = Access {
                wave,
                lane: None,
                max_bits: 1 << 12,
                meter: None,
            };
            if let Some(bits) = register.size_in_bits() {
                let _ = read(&location, bits.into(), &access);
            }
        }
    }
}
