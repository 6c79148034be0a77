//! Reads arbitrary bytes as a code object, and runs the queries of every command.

use hetdwarf::arch::{Lane, WaveSize};
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::object::{CodeObject, EmbeddedCodeObject, code_objects};
use hetdwarf::report::{
    CheckedFile, InfoDocument, LaneChoice, LanePcDocument, ObjectDocument, SarifLog,
    UnwindDocument, VarsDocument, VarsRequest, VerifyDocument, check_file, github_annotations,
};
use hetdwarf::verify::{Selection, verify};
use serde::Serialize;

use super::wave::{Scrambled, mix};

/// Describes the object, checks it with every rule, and stops a wave in its functions.
///
/// # Panics
/// If two runs of the rules differ, if findings are not sorted, or if a document is not JSON.
pub fn check(bytes: &[u8]) {
    if let Ok(found) = code_objects(bytes) {
        document(&InfoDocument::new(&found));
        for object in found.iter().take(2) {
            embedded(object);
        }
        verify_file(bytes);
    } else if let Ok(object) = CodeObject::parse(bytes) {
        panic!("{} is a code object that is not found", object.target());
    }
}

fn embedded(embedded: &EmbeddedCodeObject<'_>) {
    let Ok(object) = CodeObject::parse_with(&embedded.data, &limits()) else {
        return;
    };
    if let Ok(found) = ObjectDocument::new(&object, embedded.index) {
        document(&found);
    }
    let Ok(program) = Program::load(&object) else {
        return;
    };
    rules(&program);
    crate::probe::code_object(&object);
    let hash = hash(&embedded.data);
    for pc in addresses(&program, hash) {
        stop(&program, pc, hash);
    }
}

/// Returns small limits, so that they are reached.
fn limits() -> Limits {
    let mut limits = Limits::DEFAULT;
    limits.steps = 1 << 12;
    limits.bits = 1 << 16;
    limits.parts = 1 << 10;
    limits.frames = 4;
    limits
}

/// Returns a hash that every byte affects.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |hash, byte| mix(hash ^ u64::from(*byte)))
}

/// Returns addresses in functions and in ranges of call frame information, chosen by the contents of the file.
pub(super) fn addresses(program: &Program<'_>, hash: u64) -> Vec<u64> {
    let info = program.info();
    let mut found = vec![0];
    for unit in info.unit_ids().take(4) {
        let functions = info.functions(unit).unwrap_or_default();
        let ranges = functions.iter().flat_map(|function| function.ranges.iter());
        found.extend(ranges.take(4).map(|range| {
            let size = range.end.saturating_sub(range.start).max(1);
            range.start.saturating_add(hash % size)
        }));
    }
    found.truncate(4);
    found
}

fn stop(program: &Program<'_>, pc: u64, hash: u64) {
    let wave = Scrambled::new(
        program
            .processor()
            .default_wave_size()
            .unwrap_or(WaveSize::Wave64),
        hash.to_le_bytes()[7],
    );
    let arena = Arena::new();
    let stop = Stop::new(program, &wave, pc, StopOptions::default(), &arena);
    if let Ok(found) = UnwindDocument::new(&stop) {
        document(&found);
    }
    let lanes = [Lane(0), Lane(31)];
    let request = VarsRequest::default().lanes(LaneChoice::These(&lanes));
    if let Ok(found) = VarsDocument::of_all_frames(&stop, &request) {
        document(&found);
    }
    for frame in stop.call_frames().take(2) {
        if let Ok(found) = VarsDocument::new(&frame, &request) {
            document(&found);
        }
        if let Ok(found) = LanePcDocument::new(&frame) {
            document(&found);
        }
    }
}

/// Checks that two runs give the same findings in sorted order.
fn rules(program: &Program<'_>) {
    let first = verify(program);
    let second = verify(program);
    assert_eq!(first.left_out, second.left_out);
    assert!(
        first.findings == second.findings,
        "{:#?}, but a second time {:#?}",
        first.findings,
        second.findings
    );
    let place = |at: usize| {
        let finding = &first.findings[at];
        (finding.section, finding.offset, finding.pc, finding.rule.id)
    };
    for at in 1..first.findings.len() {
        assert!(
            place(at - 1) <= place(at),
            "{:?}",
            &first.findings[at - 1..=at]
        );
    }
    for finding in &first.findings {
        assert!(!finding.message.is_empty(), "{finding:?}");
        if let Some(excerpt) = &finding.excerpt {
            let marked = excerpt.text.raw().get(excerpt.mark.clone());
            assert!(marked.is_some(), "{excerpt:?}");
        }
    }
}

fn verify_file(bytes: &[u8]) {
    let checked: CheckedFile = check_file("a.hsaco", bytes, &Selection::default());
    let found = VerifyDocument::new([checked]);
    document(&found);
    document(&SarifLog::new(&found, "/"));
    // Names come from the file. They must not start a line of their own.
    for line in github_annotations(&found, "/").lines() {
        assert!(line.starts_with("::"), "{line}");
    }
}

/// Checks that a document is JSON that can be read.
fn document(document: &impl Serialize) {
    let text = serde_json::to_string(document).unwrap();
    serde_json::from_str::<serde::de::IgnoredAny>(&text).unwrap();
}
