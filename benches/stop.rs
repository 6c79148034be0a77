//! What a debugger waits for: loading a program, then the variables and the call stack of a stop.
//!
//! `cargo bench`; times are those of one machine at one moment, so compare only within a run.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark, in which an error is the end"
)]

use std::path::Path;

use divan::Bencher;
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::eval::{Context, ExpressionBytes, ResultKind, Unit, evaluate};
use hetdwarf::expr::{Encoding, ParseOptions, parse};
use hetdwarf::inspect::{Program, Stop, StopOptions};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;

/// Optimised code, three frames deep; with the extensions, and as LLVM writes without them.
const OBJECTS: [&str; 2] = ["calls-O2.rocm.hsaco", "calls-O2.hsaco"];

fn main() {
    divan::main();
}

fn read(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dwarf-tests/fixtures/waves/calls-O2");
    std::fs::read(folder.join(name)).unwrap()
}

fn wave() -> Snapshot {
    Snapshot::from_json(&read("w06.json")).unwrap()
}

#[divan::bench(args = OBJECTS)]
fn load(bencher: Bencher<'_, '_>, name: &str) {
    let file = read(name);
    bencher.bench_local(|| {
        let object = CodeObject::parse(&file).unwrap();
        Program::load(&object).unwrap().info().units().count()
    });
}

#[divan::bench(args = OBJECTS)]
fn call_stack(bencher: Bencher<'_, '_>, name: &str) {
    let (file, wave) = (read(name), wave());
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    bencher.bench_local(|| {
        let arena = Arena::new();
        let options = StopOptions::loaded_at(wave.load_address);
        let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
        stop.frames().len()
    });
}

#[divan::bench(args = OBJECTS)]
fn variables_of_all_lanes(bencher: Bencher<'_, '_>, name: &str) {
    let (file, wave) = (read(name), wave());
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let arena = Arena::new();
    let options = StopOptions::loaded_at(wave.load_address);
    let stop = Stop::new(&program, &wave, wave.pc(), options, &arena);
    bencher.bench_local(|| {
        let mut types = TypeTable::default();
        stop.frame(0).unwrap().variables(&mut types).unwrap().len()
    });
}

#[divan::bench(args = [
    "DW_OP_lit6, DW_OP_lit7, DW_OP_mul",
    "DW_OP_regx VGPR40, DW_OP_LLVM_push_lane, DW_OP_lit4, DW_OP_mul, DW_OP_LLVM_offset",
])]
fn expression(bencher: Bencher<'_, '_>, text: &str) {
    let encoding = Encoding::AMDGPU;
    let bytes = parse(text, &ParseOptions::default()).unwrap();
    let bytes = bytes.encode(encoding).unwrap();
    bencher.bench_local(|| {
        let arena = Arena::new();
        let mut context = Context::new(&arena);
        context.lane = hetdwarf::eval::LaneFocus::All;
        let expression = ExpressionBytes::alone(&bytes, Unit::unknown(encoding));
        evaluate(expression, ResultKind::Any, &context).is_ok()
    });
}
