//! Checks that the regions recovered from linear code equal the regions from which the code was generated.

use core::ops::Range;
use std::time::Instant;

use dwarf_tests::seeds;
use dwarf_tests::simulator::graph::graph;
use dwarf_tests::simulator::source::Source;
use dwarf_tests::simulator::{
    Failure, Form, NAMES, Random, Way, back_end, check as check_lanes, generate, smaller,
};
use hetdwarf::arch::WaveSize;
use hetdwarf::lane_pc::graph::{Block, Change, Event, recover};
use hetdwarf::lane_pc::{Function, Label, MaskPlace, Phase, Region, WholeWave};
use petgraph::graph::{DiGraph, NodeIndex};

/// Returns the regions of a function, one per line, with all facts. Adjacent ranges of code with the same mask are joined, and empty ones
/// are removed.
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

/// Compares the recovered regions with the original ones. Returns the number of regions.
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
    let first = seeds::asked_for().unwrap_or(0);
    let start = Instant::now();
    let seeds = (0..5000).map(|number| first.wrapping_add(number));
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

/// A mistake in the graph of the code.
#[derive(Clone, Copy, Debug)]
enum Mistake {
    /// EXEC is never narrowed.
    NoAnd,
    /// A mask is not saved.
    NoSave,
    /// EXEC is not restored.
    NoRestore,
    /// A mask is not moved.
    NoMove,
    /// An event is one instruction too early.
    TooEarly,
}

/// Makes a mistake at a random position. Returns false if no position is suitable.
fn mistake(graph: &mut DiGraph<Block, ()>, mistake: Mistake, random: &mut Random) -> bool {
    let fits = |event: &Event| match mistake {
        Mistake::NoAnd => event.change == Change::And,
        Mistake::NoSave => matches!(event.change, Change::Save { .. }),
        Mistake::NoRestore => matches!(event.change, Change::Restore { .. } | Change::Flip { .. }),
        Mistake::NoMove => matches!(event.change, Change::Move { .. }),
        Mistake::TooEarly => event.change == Change::And,
    };
    let places: Vec<(NodeIndex, usize)> = graph
        .node_indices()
        .flat_map(|block| (0..graph[block].events.len()).map(move |event| (block, event)))
        .filter(|(block, event)| fits(&graph[*block].events[*event]))
        .collect();
    if places.is_empty() {
        return false;
    }
    let (block, event) = places[random.below(places.len())];
    let events = &mut graph[block].events;
    match (mistake, &events[event].code.start) {
        (Mistake::TooEarly, Label::Offset(start)) => {
            events[event].code = Label::Offset(start - 4)..Label::Offset(*start);
        }
        (_, _) => drop(events.remove(event)),
    }
    true
}

#[test]
fn mistakes_in_the_graph_are_seen() {
    let mistakes = [
        Mistake::NoAnd,
        Mistake::NoSave,
        Mistake::NoRestore,
        Mistake::NoMove,
        Mistake::TooEarly,
    ];
    for kind in mistakes {
        let (mut made, mut seen) = (0, 0);
        for seed in 0..400 {
            let happened = std::cell::Cell::new(false);
            let change = |graph: &mut DiGraph<Block, ()>| {
                happened.set(mistake(graph, kind, &mut Random::new(seed)))
            };
            let result = compare(&generate(seed), WaveSize::Wave64, &change);
            made += usize::from(happened.get());
            seen += usize::from(happened.get() && result.is_err());
        }
        println!("{kind:?}: {seen} of {made}");
        // Some mistakes have no effect: a loop begins with its header, wherever EXEC is narrowed in it, and an unused mask may be anywhere.
        assert!(
            made > 100 && seen * 10 >= made * 6,
            "{kind:?}: {seen} of {made}"
        );
    }
}

/// Adds facts that the code does not imply: branches that are never taken, and writes to places that do not happen.
fn exaggerate(graph: &mut DiGraph<Block, ()>, random: &mut Random) {
    let blocks = graph.node_count();
    for _ in 0..1 + random.below(2) {
        let block = |random: &mut Random| NodeIndex::new(random.below(blocks));
        if random.percent(70) {
            let (from, to) = (block(random), block(random));
            // No edge leads to the start of the function, or away from its end.
            if to.index() > 0 && graph.neighbors(from).next().is_some() {
                graph.update_edge(from, to, ());
            }
            continue;
        }
        let number = block(random);
        let place = MaskPlace::Scalar(u16::try_from(4 + random.below(16)).unwrap());
        let start = graph[number].code.start.clone();
        graph[number].events.insert(
            0,
            Event {
                code: start.clone()..start,
                change: Change::Clobber { place },
            },
        );
    }
}

#[test]
fn what_is_refused_is_unknown_and_never_wrong() {
    let (mut programs, mut with_refused, mut known, mut all) = (0, 0, 0, 0);
    for seed in 0..500 {
        let refused = std::cell::Cell::new(0);
        let regions = |compiled: &back_end::Compiled| {
            let mut graph = graph(compiled);
            exaggerate(&mut graph, &mut Random::new(seed));
            let found = recover(&graph, compiled.function.wave_size);
            // If the active lanes are unknown, there is no answer.
            let Ok(found) = found else {
                return compiled.function.clone();
            };
            refused.set(refused.get() + found.refused.len());
            found.function
        };
        let source = generate(seed);
        let usual = Way::new(Form::default());
        let way = Way {
            regions: &regions,
            may_be_unknown: true,
            ..usual
        };
        let figures = match check_lanes(&source, way) {
            Ok(figures) => figures,
            Err(Failure::TooLong) => continue,
            Err(failure) => panic!("seed {seed:#x}: {failure}\n{source}"),
        };
        programs += 1;
        with_refused += usize::from(refused.get() > 0);
        known += figures.waiting;
        all += check_lanes(&source, usual).unwrap().waiting;
    }
    println!(
        "{with_refused} of {programs} programs with something refused; {known} of {all} lanes that wait are known"
    );
    assert!(with_refused > 100 && known < all && known * 4 > all);
}
