//! Regions recovered from linear code: the same as those that the code was made of.

use core::ops::Range;
use std::time::{Instant, SystemTime};

use dwarf_tests::simulator::graph::graph;
use dwarf_tests::simulator::source::Source;
use dwarf_tests::simulator::{NAMES, back_end, generate, smaller};
use hetdwarf::arch::WaveSize;
use hetdwarf::lane_pc::graph::{Block, recover};
use hetdwarf::lane_pc::{Function, Label, MaskPlace, Phase, Region, WholeWave};
use petgraph::graph::DiGraph;

/// The regions of a function, one a line, with all that is said of them. Ranges of code with the same mask that
/// touch are one, and empty ones none.
fn lines(function: &Function) -> Vec<String> {
    let mut lines = vec![format!("{:?} {:?}", function.code, function.wave_size)];
    describe(&function.regions, 0, &mut lines);
    for WholeWave { code, active } in &function.whole_wave {
        lines.push(format!("whole wave {code:?} {active:?}"));
    }
    lines
}

fn describe(regions: &[Region], depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    for region in regions {
        let mut masks: Vec<(Range<Label>, MaskPlace)> = Vec::new();
        for (range, place) in region.masks() {
            match masks.last_mut() {
                Some((before, last)) if last == place && before.end == range.start => {
                    before.end = range.end.clone()
                }
                _ => masks.push((range.clone(), place.clone())),
            }
        }
        lines.push(format!("{indent}region {masks:?}"));
        for Phase {
            name,
            code,
            wait,
            regions,
        } in region.phases()
        {
            lines.push(format!("{indent}- {name} {code:?} wait {wait:?}"));
            describe(regions, depth + 1, lines);
        }
    }
}

/// Compares what is recovered with what the code was made of. Gives the number of regions.
fn compare(
    source: &Source,
    wave_size: WaveSize,
    change: &dyn Fn(&mut DiGraph<Block, ()>),
) -> Result<usize, String> {
    let compiled = back_end::compile(source, wave_size);
    let mut graph = graph(&compiled);
    change(&mut graph);
    let found = recover(&graph, wave_size).map_err(|error| error.to_string())?;
    let text: Vec<String> = found.refused.iter().map(ToString::to_string).collect();
    let (expected, lines) = (lines(&compiled.function), lines(&found.function));
    if expected != lines || !text.is_empty() {
        let all = [expected.join("\n"), lines.join("\n"), text.join("\n")];
        return Err(all.join("\n---\n"));
    }
    Ok(expected
        .iter()
        .filter(|line| line.trim_start().starts_with("region"))
        .count())
}

fn check(source: &Source) -> Result<usize, String> {
    NAMES
        .iter()
        .map(|(_, wave_size)| compare(source, *wave_size, &|_| {}))
        .sum()
}

fn shrink(source: &Source) -> String {
    let mut smallest = source.clone();
    while let Some(next) = smaller(&smallest)
        .into_iter()
        .find(|next| check(next).is_err())
    {
        smallest = next;
    }
    format!("{smallest}\n{}", check(&smallest).unwrap_err())
}

#[test]
fn the_regions_of_random_programs_are_recovered() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let fresh = u64::try_from(now.unwrap().as_nanos()).unwrap();
    println!("fresh seeds from {fresh:#x} onwards");
    let start = Instant::now();
    let seeds = (0..4000).chain((0..1000).map(|number| fresh.wrapping_add(number)));
    let mut regions = 0;
    for seed in seeds {
        let source = generate(seed);
        match check(&source) {
            Ok(found) => regions += found,
            Err(_) => panic!("seed {seed:#x}\n{}", shrink(&source)),
        }
    }
    println!("{regions} regions in {:?}", start.elapsed());
    assert!(regions > 20_000);
}
