//! Where lanes are that EXEC has switched off, recovered from machine code, against a simulator that knows it: random
//! programs, encoded for processors (`dwarf_tests::simulator`).

use dwarf_tests::simulator::amdgpu::TARGETS;
use dwarf_tests::simulator::generate;
use dwarf_tests::simulator::recovery::{Figures, compare};
use dwarf_tests::simulator::source::{Source, without_quads};
use dwarf_tests::{llvm_tool, seeds};

/// How many programs the assembler gets at once.
const BATCH: u64 = 25;

/// `HETDWARF_SEED` takes other seeds, `HETDWARF_COUNT` so many of them.
#[test]
fn lanes_of_random_programs_are_where_they_are() {
    let Some(assembler) = llvm_tool("llvm-mc") else {
        return;
    };
    let first = seeds::asked_for().unwrap_or(0);
    let count = std::env::var("HETDWARF_COUNT").map_or(50, |text| text.parse().unwrap());
    let mut total = Figures::default();
    for batch in 0..u64::div_ceil(count, BATCH) {
        let sources: Vec<_> = (0..BATCH)
            .map(|n| {
                let source = generate(first.wrapping_add(batch * BATCH + n));
                // What is not known of whole quads must not be wrong either.
                if n % 8 == 0 {
                    return source;
                }
                Source {
                    body: without_quads(&source.body),
                    ..source
                }
            })
            .collect();
        for target in TARGETS {
            match compare(&assembler, target, &sources) {
                Ok(figures) => total += figures,
                Err((source, failure)) => panic!("{failure}\n{source}"),
            }
        }
    }
    println!("{total:?}");
    let unknown: usize = total.unknown.values().sum();
    assert!(
        total.waiting > 200_000 && unknown * 10 < total.waiting,
        "{total:?}"
    );
}
