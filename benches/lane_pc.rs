//! Measures the generation of lane program locations for a large function, for back ends, and reading the locations of a wave, for
//! debuggers.
//!
//! Run it with `cargo bench --bench lane_pc`. Times depend on the machine. Allocations are counted too: twice the regions must need about
//! twice the memory. For instruction counts, run a bench under valgrind: `valgrind --tool=callgrind target/release/deps/lane_pc-… --exact
//! lane_pcs_of_a_wave --test`.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark, in which an error is the end"
)]

use std::path::Path;

use divan::Bencher;
use gimli::constants::DW_TAG_subprogram;
use gimli::write::{Address, Dwarf, EndianVec, LineProgram, Sections, Unit};
use gimli::{Encoding, Format, LittleEndian};
use hetdwarf::arch::WaveSize;
use hetdwarf::inspect::{Program as Loaded, Stop, StopOptions};
use hetdwarf::lane_pc::graph::{Block, Change, Event, recover};
use hetdwarf::lane_pc::{Function, Label, MaskPlace, Program, Region, UnitWriter};
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;
use petgraph::graph::{DiGraph, NodeIndex};

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

/// The number of regions of a function, and twice as many.
const REGIONS: [u64; 2] = [10_000, 20_000];
/// The nesting depth of the regions.
const DEPTH: u64 = 4;

fn main() {
    divan::main();
}

/// Returns a function with a sequence of nests, each of four nested decisions with `else`.
fn function(regions: u64) -> Function {
    /// The size of a nest in bytes.
    const SIZE: u64 = 16 * DEPTH + 16;
    let nest = |number: u64| {
        let at = number * SIZE;
        let mut inner = Vec::new();
        for level in (0..DEPTH).rev() {
            let (start, end) = (at + 4 * level, at + SIZE - 8 * level);
            let range = |from: u64, to: u64| Label::from(from)..Label::from(to);
            let first = u16::try_from(4 + 2 * level).unwrap();
            inner = vec![Region::if_then_else(
                start.into(),
                (range(start + 4, end - 4), inner),
                (range(end - 4, end), vec![]),
                end.into(),
                MaskPlace::Scalar(first),
            )];
        }
        inner
    };
    let count = regions / DEPTH;
    Function {
        code: 0.into()..Label::from(count * SIZE),
        wave_size: WaveSize::Wave64,
        regions: (0..count).flat_map(nest).collect(),
        whole_wave: vec![],
    }
}

/// Generates the lane program locations.
#[divan::bench(args = REGIONS)]
fn generate(bencher: Bencher<'_, '_>, regions: u64) {
    let function = function(regions);
    bencher.bench_local(|| Program::new(&function).unwrap());
}

/// Generates the lane program locations, and writes them to sections.
#[divan::bench(args = REGIONS)]
fn generate_and_write(bencher: Bencher<'_, '_>, regions: u64) {
    let function = function(regions);
    bencher.bench_local(|| {
        let program = Program::new(&function).unwrap();
        let encoding = Encoding {
            format: Format::Dwarf32,
            version: 5,
            address_size: 8,
        };
        let mut dwarf = Dwarf::new();
        let id = dwarf.units.add(Unit::new(encoding, LineProgram::none()));
        let unit = dwarf.units.get_mut(id);
        let subprogram = unit.add(unit.root(), DW_TAG_subprogram);
        UnitWriter::new().write(&program, unit, subprogram, &|label| match label {
            Label::Offset(offset) => Address::Constant(*offset),
            Label::Symbol(_) => Address::Constant(0),
        });
        let mut sections = Sections::new(EndianVec::new(LittleEndian));
        dwarf.write(&mut sections).unwrap();
        sections
    });
}

/// Finds the regions in a graph: a sequence of decisions, with a jump over each.
#[divan::bench(args = REGIONS)]
fn recover_from_a_graph(bencher: Bencher<'_, '_>, regions: u64) {
    let mut graph = DiGraph::new();
    let mut at = 0;
    let mut block = |changes: &[Change]| {
        let start = Label::from(at);
        let events = changes.iter().map(|change| {
            at += 4;
            Event {
                code: Label::from(at - 4)..Label::from(at),
                change: change.clone(),
            }
        });
        let events = events.collect();
        at += 4;
        let code = start..Label::from(at);
        graph.add_node(Block {
            name: String::new(),
            code,
            events,
        });
    };
    let mask = MaskPlace::Scalar(4);
    for _ in 0..regions {
        block(&[Change::Save { to: mask.clone() }, Change::And]);
        block(&[]);
        block(&[Change::Restore { from: mask.clone() }]);
    }
    let last = graph.node_count() - 1;
    for number in 0..last {
        graph.add_edge(NodeIndex::new(number), NodeIndex::new(number + 1), ());
        if number % 3 == 0 {
            graph.add_edge(NodeIndex::new(number), NodeIndex::new(number + 2), ());
        }
    }
    bencher.bench_local(|| {
        let found = recover(&graph, WaveSize::Wave64).unwrap();
        assert!(found.refused.is_empty());
        found
    });
}

/// Locates each of 64 lanes in the `else` of a nested decision.
#[divan::bench]
fn lane_pcs_of_a_wave(bencher: Bencher<'_, '_>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dwarf-tests/fixtures");
    let file = std::fs::read(folder.join("corpus/rocm-style/lane_pc.hsaco")).unwrap();
    let wave = std::fs::read(folder.join("lane_pc/nested-else.json")).unwrap();
    let wave = Snapshot::from_json(&wave).unwrap();
    let object = CodeObject::parse(&file).unwrap();
    let program = Loaded::load(&object).unwrap();
    bencher.bench_local(|| {
        // A debugger frees the data of one stop before the next.
        let arena = Arena::new();
        let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
        let found = stop.call_frame(0).unwrap().lane_pcs().unwrap();
        assert!(found.is_known());
        found
    });
}
