//! Tests with graphs made by hand, and the regions to recover or refuse.

use petgraph::graph::{DiGraph, NodeIndex};

use super::*;
use crate::lane_pc::{MaskPlace, Phase, Program, Region};

/// Returns the place in scalar registers that begins with this one.
fn s(number: u16) -> MaskPlace {
    MaskPlace::Scalar(number)
}

fn save(to: u16) -> Change {
    Change::Save { to: s(to) }
}

fn restore(from: u16) -> Change {
    Change::Restore { from: s(from) }
}

fn flip(from: u16) -> Change {
    Change::Flip { from: s(from) }
}

/// Returns a graph of blocks, given their events and successors. Each event is an instruction of four bytes, and so is the end of a block.
fn graph(blocks: &[(&str, &[Change], &[&str])]) -> DiGraph<Block, ()> {
    let mut graph = DiGraph::new();
    let mut at = 0_u64;
    let mut step = || {
        at += 4;
        Label::Offset(at - 4)..Label::Offset(at)
    };
    for (name, changes, _) in blocks {
        let events: Vec<Event> = changes
            .iter()
            .map(|change| Event {
                code: step(),
                change: change.clone(),
            })
            .collect();
        let end = step();
        let start = events.first().map_or(&end.start, |first| &first.code.start);
        graph.add_node(Block {
            name: (*name).to_owned(),
            code: start.clone()..end.end,
            events,
        });
    }
    for (from, (_, _, next)) in blocks.iter().enumerate() {
        for name in *next {
            let to = blocks
                .iter()
                .position(|(other, _, _)| other == name)
                .unwrap();
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
        }
    }
    graph
}

fn recovered(blocks: &[(&str, &[Change], &[&str])]) -> Recovered {
    recover(&graph(blocks), WaveSize::Wave64).unwrap()
}

/// Formats the phases of regions, with their code and the places of waiting lanes.
fn text(regions: &[Region]) -> String {
    let offset = |label: &Label| match label {
        Label::Offset(offset) => format!("{offset}"),
        Label::Symbol(name) => name.to_string(),
    };
    let phase = |phase: &Phase| {
        let wait = phase.wait.as_ref().map_or("?".to_owned(), offset);
        let code = format!("{}..{}", offset(&phase.code.start), offset(&phase.code.end));
        format!(
            "{} {code} wait {wait} [{}]",
            phase.name,
            text(&phase.regions)
        )
    };
    let region = |region: &Region| {
        let phases: Vec<String> = region.phases().iter().map(phase).collect();
        format!("({})", phases.join(", "))
    };
    regions.iter().map(region).collect()
}

/// Returns the reason and the blocks of each refusal.
fn refused(found: &Recovered) -> Vec<(Reason, String)> {
    let refused = found.refused.iter();
    refused
        .map(|one| (one.reason, one.names.join(" ")))
        .collect()
}

#[test]
fn the_example_of_usage_is_recovered() {
    // The blocks of USAGE `DW_AT_LLVM_lane_pc`, with a jump over each part that no lane executes.
    let found = recovered(&[
        ("a", &[save(4), Change::And], &["b", "e_end"]), // 0 save, 4 if c1
        ("b", &[save(6), Change::And], &["c", "c_end"]), // 12 save, 16 if c2
        ("c", &[], &["c_end"]),                          // 24
        ("c_end", &[flip(6)], &["d", "d_end"]),          // 28 else
        ("d", &[], &["d_end"]),                          // 36
        ("d_end", &[restore(6)], &["e_end"]),            // 40 endif
        ("e_end", &[flip(4)], &["f", "f_end"]),          // 48 else
        ("f", &[], &["f_end"]),                          // 56
        ("f_end", &[restore(4)], &[]),                   // 60 endif, 64 g
    ]);
    let range = |from: u64, to: u64| Label::from(from)..Label::from(to);
    let inner = Region::if_then_else(
        16.into(),
        (range(20, 32), vec![]),
        (range(32, 44), vec![]),
        44.into(),
        s(6),
    );
    let outer = Region::if_then_else(
        4.into(),
        (range(8, 52), vec![inner]),
        (range(52, 64), vec![]),
        64.into(),
        s(4),
    );
    assert!(found.refused.is_empty(), "{:?}", found.refused);
    assert_eq!(found.function.regions, [outer]);
    assert_eq!(found.function.code, range(0, 68));
}

#[test]
fn loops_are_recovered_from_where_they_begin() {
    // `do { if (c) break; } while (d)`, as LLVM lowers it. A mask collects the lanes that left; it is cleared before the loop, and added to
    // EXEC after it.
    let found = recovered(&[
        ("before", &[save(4)], &["body"]),                        // 0, 4
        ("body", &[save(6), Change::And], &["work"]),             // 8, 12, 16
        ("work", &[restore(6), Change::And], &["body", "after"]), // 20, 24, 28
        ("after", &[restore(4)], &[]),                            // 32, 36
    ]);
    assert_eq!(refused(&found), []);
    assert_eq!(
        text(&found.function.regions),
        "(loop 8..36 wait 36 [(then 16..24 wait 12 [])])"
    );
}

/// A correct `if`, from one block to the next.
macro_rules! good {
    ($name:literal, $next:literal) => {
        (
            $name,
            &[save(20), Change::And, restore(20)] as &[Change],
            &[$next] as &[&str],
        )
    };
}

#[test]
fn a_cycle_with_two_ways_in_is_refused_and_the_rest_is_not() {
    let found = recovered(&[
        good!("before", "start"),               // 0 … 12
        ("start", &[save(4)], &["one", "two"]), // 16, 20
        ("one", &[Change::And], &["two"]),      // 24, 28
        ("two", &[], &["one", "end"]),          // 32
        ("end", &[restore(4)], &["after"]),     // 36, 40
        good!("after", "last"),                 // 44 … 56
        ("last", &[], &[]),                     // 60
    ]);
    assert_eq!(
        refused(&found),
        [(Reason::Irreducible, "one two".to_owned())]
    );
    // Lanes that entered are in the mask saved at 16, but their places are unknown.
    assert_eq!(found.refused[0].code, Some(20.into()..40.into()));
    assert_eq!(
        text(&found.function.regions),
        "(then 8..12 wait 4 [])(unknown 20..40 wait ? [])(then 52..56 wait 48 [])"
    );
    let names: Vec<String> = Program::new(&found.function)
        .unwrap()
        .procedures
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert!(
        names.contains(&"__divergent_lane_pc_2_unknown".to_owned()),
        "{names:?}"
    );
}

#[test]
fn a_cycle_with_two_ways_in_that_all_lanes_take_is_no_matter() {
    let found = recovered(&[
        ("start", &[], &["one", "two"]),
        ("one", &[save(4), Change::And, restore(4)], &["two"]),
        ("two", &[], &["one", "end"]),
        ("end", &[], &[]),
    ]);
    assert_eq!(refused(&found), []);
    assert_eq!(text(&found.function.regions), "(then 12..16 wait 8 [])");
}

#[test]
fn a_jump_into_a_region_is_refused_and_what_is_around_it_is_not() {
    let found = recovered(&[
        ("start", &[save(4), Change::And], &["outer"]), // 0, 4, 8
        ("outer", &[save(6)], &["if", "then"]),         // 12, 16
        ("if", &[Change::And], &["then"]),              // 20, 24
        ("then", &[], &["end"]),                        // 28
        ("end", &[restore(6)], &["last"]),              // 32, 36
        ("last", &[restore(4)], &[]),                   // 40, 44
    ]);
    assert_eq!(refused(&found), [(Reason::Narrowed, "if".to_owned())]);
    assert_eq!(
        text(&found.function.regions),
        "(then 8..44 wait 4 [(unknown 16..36 wait ? [])])"
    );
}

#[test]
fn an_edge_back_into_a_region_that_is_over_is_refused() {
    // The decision at the start dominates the end of its region, which post-dominates it. However, the wave also enters the region from
    // after it.
    let blocks: [(&str, &[Change], &[&str]); 4] = [
        ("if", &[save(4), Change::And], &["then", "end"]),
        ("then", &[], &["end"]),
        ("end", &[restore(4)], &["after"]),
        ("after", &[], &["then", "last"]),
    ];
    let last: (&str, &[Change], &[&str]) = ("last", &[], &[]);
    let [first, then, end, after] = blocks;
    let found = recovered(&[first, then, end, after, last]);
    assert_eq!(
        refused(&found),
        [(Reason::Irreducible, "then end after".to_owned())]
    );
    assert_eq!(text(&found.function.regions), "");
    let without = ("after", &[] as &[Change], &["last"] as &[&str]);
    let found = recovered(&[first, then, end, without, last]);
    assert_eq!(refused(&found), []);
    assert_eq!(text(&found.function.regions), "(then 8..20 wait 4 [])");
}

#[test]
fn a_restore_on_one_way_only_is_refused_and_what_is_around_it_is_not() {
    let found = recovered(&[
        ("start", &[save(4)], &["if"]),                        // 0, 4
        ("if", &[save(6), Change::And], &["with", "without"]), // 8, 12, 16
        ("with", &[restore(6)], &["end"]),                     // 20, 24
        ("without", &[], &["end"]),                            // 28
        ("end", &[restore(4)], &["after"]),                    // 32, 36
        good!("after", "last"),                                // 40 … 52
        ("last", &[], &[]),                                    // 56
    ]);
    // The `if` has no unique end. Its region therefore extends from the save of EXEC before it to the restore after it, which comes too
    // early on one path.
    assert_eq!(refused(&found), [(Reason::Restored, "with".to_owned())]);
    assert_eq!(
        text(&found.function.regions),
        "(unknown 4..36 wait ? [])(then 48..52 wait 44 [])"
    );
}

#[test]
fn a_restore_that_nothing_saves_is_refused_within_what_is_around_it() {
    let found = recovered(&[
        ("start", &[save(4), Change::And], &["wrong"]), // 0, 4, 8
        ("wrong", &[restore(30)], &["end"]),            // 12, 16
        ("end", &[restore(4)], &[]),                    // 20, 24
    ]);
    assert_eq!(refused(&found), [(Reason::Restored, "wrong".to_owned())]);
    assert_eq!(text(&found.function.regions), "(unknown 4..24 wait ? [])");
    // Without an enclosing part, nothing is known.
    let found = recovered(&[good!("good", "wrong"), ("wrong", &[restore(30)], &[])]);
    assert_eq!(refused(&found), [(Reason::Restored, "wrong".to_owned())]);
    assert_eq!(
        (found.refused[0].code.clone(), text(&found.function.regions)),
        (None, String::new())
    );
}

#[test]
fn a_mask_that_is_nowhere_is_refused() {
    let clobber = |number| Change::Clobber { place: s(number) };
    // s5 is the high half of s[4:5].
    let within = |change: Change| {
        recovered(&[
            ("start", &[save(2)], &["if"]),
            ("if", &[save(4), Change::And, change, restore(4)], &["end"]),
            ("end", &[restore(2)], &[]),
        ])
    };
    assert_eq!(refused(&within(clobber(6))), []);
    assert_eq!(
        refused(&within(clobber(5)))[0],
        (Reason::Restored, "if".to_owned())
    );
    assert_eq!(
        text(&within(clobber(5)).function.regions),
        "(unknown 4..32 wait ? [])"
    );
    // A copy is sufficient.
    let copied = recovered(&[(
        "if",
        &[
            save(4),
            Change::And,
            Change::Move {
                from: s(4),
                to: s(8),
            },
            clobber(5),
            restore(8),
        ],
        &[],
    )]);
    assert_eq!(refused(&copied), []);
    assert_eq!(
        copied.function.regions[0].masks(),
        [(4.into()..12.into(), s(4)), (12.into()..20.into(), s(8))]
    );
}

#[test]
fn lanes_that_leave_must_be_taken_out_of_masks() {
    let leave = |change: &[Change]| {
        let mut then = vec![save(6), Change::And];
        then.extend_from_slice(change);
        then.extend([Change::Leave, restore(6)]);
        recovered(&[
            ("start", &[save(4)], &["if"]),
            ("if", &then, &["end"]),
            ("end", &[restore(4)], &[]),
        ])
    };
    let taken_out = leave(&[Change::AndNot { mask: s(6) }]);
    assert_eq!(refused(&taken_out), []);
    assert_eq!(
        text(&taken_out.function.regions),
        "(return 4..36 wait 36 [(then 16..28 wait 12 [])])"
    );
    let left_in = leave(&[]);
    assert_eq!(refused(&left_in), [(Reason::Left, "if".to_owned())]);
    assert_eq!(
        text(&left_in.function.regions),
        "(return 4..32 wait 32 [(unknown 12..24 wait ? [])])"
    );
}

#[test]
fn sections_with_more_lanes_are_told_or_nothing_is() {
    let found = recovered(&[("all", &[save(4), Change::WholeWave, restore(4)], &[])]);
    let [section] = found.function.whole_wave.as_slice() else {
        panic!("{:?}", found.function);
    };
    assert_eq!(
        (section.code.clone(), section.active.clone()),
        (8.into()..12.into(), s(4))
    );
    let never_restored = graph(&[("all", &[save(4), Change::WholeWave], &[])]);
    let error = recover(&never_restored, WaveSize::Wave64)
        .unwrap_err()
        .to_string();
    assert!(error.contains("blocks: all"), "{error}");
    // Whole-wave sections are reported even if everything else is refused, since EXEC does not contain the active lanes there.
    let refused = recovered(&[(
        "all",
        &[Change::And, save(4), Change::WholeWave, restore(4)],
        &[],
    )]);
    assert_eq!(
        (refused.refused.len(), refused.function.whole_wave.len()),
        (1, 1)
    );
}

#[test]
fn regions_too_deep_are_refused() {
    let nested: Vec<Change> = (0..1100)
        .flat_map(|level| {
            let to = MaskPlace::Scratch {
                base: 32,
                offset: 8 * level,
            };
            [Change::Save { to }, Change::And]
        })
        .chain((0..1100).rev().map(|level| Change::Restore {
            from: MaskPlace::Scratch {
                base: 32,
                offset: 8 * level,
            },
        }))
        .collect();
    assert!(recover(&DiGraph::new(), WaveSize::Wave32).is_err());
    assert!(recover(&graph(&[("nested", &nested, &[])]), WaveSize::Wave32).is_err());
}

#[test]
fn many_regions_are_no_matter() {
    let names: Vec<String> = (0..=10_000).map(|number: u32| number.to_string()).collect();
    let changes = [save(4), Change::And, restore(4)];
    let next: Vec<[&str; 1]> = names.iter().skip(1).map(|name| [name.as_str()]).collect();
    let mut blocks: Vec<(&str, &[Change], &[&str])> = Vec::new();
    for (name, next) in names.iter().zip(&next) {
        blocks.push((name, &changes, next));
    }
    blocks.push(("10000", &[], &[]));
    let found = recover(&chain(&blocks), WaveSize::Wave32).unwrap();
    assert_eq!(
        (found.function.regions.len(), found.refused.len()),
        (10_000, 0)
    );
}

/// Builds a graph as [`graph`] does, in which each block leads to the next, without searching for names.
fn chain(blocks: &[(&str, &[Change], &[&str])]) -> DiGraph<Block, ()> {
    let alone: Vec<_> = blocks
        .iter()
        .map(|(name, changes, _)| (*name, *changes, &[] as &[&str]))
        .collect();
    let mut graph = graph(&alone);
    for number in 1..blocks.len() {
        graph.add_edge(NodeIndex::new(number - 1), NodeIndex::new(number), ());
    }
    graph
}
