//! Compares the recovered positions of inactive lanes with a simulator: random programs, encoded for processors (`dwarf_tests::simulator`).

use dwarf_tests::simulator::amdgpu::TARGETS;
use dwarf_tests::simulator::generate;
use dwarf_tests::simulator::recovery::{Figures, compare};
use dwarf_tests::simulator::source::{Source, without_quads};
use dwarf_tests::{llvm_tool, seeds};

/// The number of programs in one run of the assembler.
const BATCH: u64 = 25;

/// `HETDWARF_SEED` selects other seeds, and `HETDWARF_COUNT` their number.
#[test]
fn lanes_of_random_programs_are_where_they_are() {
    let Some(assembler) = llvm_tool("llvm-mc") else {
        return;
    };
    let first = seeds::asked_for().unwrap_or(0);
    let count = std::env::var("HETDWARF_COUNT").map_or(50, |text| text.parse().unwrap());
    // After whole-quad sections nothing is recovered, but nothing may be wrong. The share of lost lanes depends on the position of the
    // first section.
    let mut total = Figures::default();
    let mut with_quads = Figures::default();
    for batch in 0..u64::div_ceil(count, BATCH) {
        let seeds = || (0..BATCH).map(|n| first.wrapping_add(batch * BATCH + n));
        let may_have_quads = |seed: &u64| seed.wrapping_sub(first).is_multiple_of(8);
        let whole: Vec<Source> = seeds().filter(may_have_quads).map(generate).collect();
        let others = seeds().filter(|seed| !may_have_quads(seed)).map(|seed| {
            let source = generate(seed);
            Source {
                body: without_quads(&source.body),
                ..source
            }
        });
        let others: Vec<Source> = others.collect();
        for target in TARGETS {
            for (sources, figures) in [(&others, &mut total), (&whole, &mut with_quads)] {
                match compare(&assembler, target, sources) {
                    Ok(found) => *figures += found,
                    Err((source, failure)) => panic!("{failure}\n{source}"),
                }
            }
        }
    }
    println!("{total:?}");
    println!("with whole quads: {with_quads:?}");
    let unknown: usize = total.unknown.values().sum();
    assert!(
        total.waiting > 200_000 && unknown * 100 < total.waiting,
        "{total:?}"
    );
    // A profiler has no masks, so it can tell little about nested regions in loops.
    assert!(total.charged * 20 > total.waiting, "{total:?}");
    assert!(with_quads.waiting > 10_000, "{with_quads:?}");
}
