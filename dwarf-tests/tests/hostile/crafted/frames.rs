//! Tests call frame information with cycles, with huge numbers of rules, or with many remembered rows.

use dwarf_tests::probe::{self, Zeros};
use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{LoadAddress, Register, WaveSize};
use hetdwarf::eval::{Frame as _, LaneFocus, Reading};
use hetdwarf::frame::{Entry as FrameEntry, FrameIndex, FrameSection, Rows, Unwind, unwind};
use hetdwarf::limits::MOST_DEPTH;
use hetdwarf::location::Arena;

use crate::elf::{code_object, uleb};
use crate::guard::Guard;

/// Returns `.debug_frame` with one CIE, and one FDE for 0x1000 to 0x2000.
pub fn debug_frame(initial: &[u8], instructions: &[u8]) -> Vec<u8> {
    let mut section = Vec::new();
    let mut entry = |body: Vec<u8>| {
        section.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
        section.extend(body);
    };
    let mut cie = vec![0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0, 1, 0x7c, 16];
    cie.extend(initial);
    entry(cie);
    let mut fde = vec![0; 4];
    fde.extend(0x1000u64.to_le_bytes());
    fde.extend(0x1000u64.to_le_bytes());
    fde.extend(instructions);
    entry(fde);
    section
}

pub fn call_frame_information(scale: usize) {
    let mut guard = Guard::new();
    let rules: Vec<u8> = (0..8000u64)
        .flat_map(|register| [&[0x05][..], &uleb(register), &[1]].concat())
        .collect();
    let repeat = |bytes: &[u8], count: usize| bytes.repeat(count);
    let cases: Vec<(&str, Vec<u8>, Vec<u8>)> = vec![
        ("many nops", vec![], repeat(&[0], 100_000 * scale)),
        (
            "many advances by nothing",
            vec![],
            repeat(&[0x40], 100_000 * scale),
        ),
        (
            "many rules",
            vec![],
            repeat(&[0x05, 33, 1], 100_000 * scale),
        ),
        (
            "many remember_state",
            vec![],
            repeat(&[0x0a], 100_000 * scale),
        ),
        (
            "many restore_state",
            vec![],
            repeat(&[0x0b], 100_000 * scale),
        ),
        (
            "remember and restore",
            vec![],
            repeat(&[0x0a, 0x0b], 50_000 * scale),
        ),
        (
            "remember and restore with 8000 rules",
            rules.clone(),
            repeat(&[0x0a, 0x0b], 50_000 * scale),
        ),
        (
            "a rule that comes and goes among 8000",
            rules.clone(),
            repeat(&[0x08, 0, 0x05, 0, 1], 30_000 * scale),
        ),
        (
            "many restores",
            rules.clone(),
            repeat(&[0x06, 33], 50_000 * scale),
        ),
        (
            "registers without end",
            vec![],
            (0..20_000 * scale as u64)
                .flat_map(|r| [&[0x05][..], &uleb(r), &[1]].concat())
                .collect(),
        ),
        (
            "a CFA that is an expression without end",
            vec![0x0f, 3, 0x2f, 0xfd, 0xff],
            vec![],
        ),
        // Every register is in the next register.
        (
            "registers in each other",
            vec![0x0c, 33, 0],
            (0..4000u64)
                .flat_map(|r| [&[0x09][..], &uleb(r), &uleb((r + 1) % 4000)].concat())
                .collect(),
        ),
        (
            "registers by expressions on the next",
            vec![0x0c, 33, 0],
            (32..100u64)
                .flat_map(|r| {
                    [&[0x10][..], &uleb(r), &[4, 0x92], &uleb(r + 1), &[0, 0x06]].concat()
                })
                .collect(),
        ),
        // The CFA grows by 16 in each frame, so that all frames differ.
        (
            "a long function that calls itself",
            vec![0x0c, 17, 0],
            [
                &[0x16, 17, 3, 0x23, 16, 0x96, 0x16, 16, 3, 0x0a, 0x00, 0x14][..],
                &repeat(&[0], 30_000 * scale),
            ]
            .concat(),
        ),
        // Each evaluation needs the caller's registers, whose locations also need evaluations.
        (
            "registers by entry values in each other",
            vec![
                0x16, 17, 3, 0x23, 16, 0x96, 0x0c, 17, 0, 0x16, 16, 3, 0x0a, 0x00, 0x14,
            ],
            (34..107u64)
                .flat_map(|register| {
                    let next = [&[0x90][..], &uleb(register + 1)].concat();
                    let expression = (0..60).fold(next, |inner, _| {
                        [&[0xa3][..], &uleb(inner.len() as u64), &inner].concat()
                    });
                    let length = uleb(expression.len() as u64);
                    [&[0x16][..], &uleb(register), &length, &expression].concat()
                })
                .collect(),
        ),
        ("returns to itself", vec![0x0c, 33, 0, 0x08, 16], vec![]),
        (
            "returns to itself, by an expression",
            vec![0x0f, 1, 0x30],
            vec![0x16, 16, 3, 0x0a, 0x00, 0x14],
        ),
    ];
    for (name, initial, instructions) in cases {
        let bytes = debug_frame(&initial, &instructions);
        let section = FrameSection::debug_frame(&bytes);
        guard.run(&format!("{name}: rows"), || {
            let mut entries = section.entries();
            while let Ok(Some(entry)) = entries.next() {
                if let FrameEntry::Fde(fde) = entry
                    && let Ok(mut rows) = Rows::new(&fde, ".debug_frame")
                {
                    while let Ok(Some(_)) = rows.next() {}
                }
            }
        });
        guard.run(&format!("{name}: unwinding"), || {
            let wave = Zeros(WaveSize::Wave64);
            let index = FrameIndex::new(section);
            let arena = Arena::new();
            let mut start = Unwind::new(&wave, &index, LoadAddress(0), &arena);
            start.lane = LaneFocus::All;
            start.reading = Reading::Tolerant;
            start.limits.depth = MOST_DEPTH;
            let stack = unwind(start, 0x1400);
            let calls_itself = name.contains("calls itself") || name.contains("entry values");
            assert!(stack.frames().len() == 1024 || !calls_itself);
            assert!(stack.frames().len() <= 1024);
            // Each rule results in a value or an error.
            for frame in stack.frames().take(3) {
                for number in (32..107).filter_map(Register::from_number) {
                    let _ = frame.register(number);
                }
            }
        });
        let object = code_object(&[(".text", &[0; 64]), (".debug_frame", &bytes)]);
        guard.run(&format!("{name}: in a file"), || probe::file(&object));
    }
    guard.finish("call frame information made to do harm");
}

#[test]
fn call_frame_information_made_to_do_harm() {
    call_frame_information(1);
}
