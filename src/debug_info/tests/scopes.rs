//! Checks that the kept scopes of a function agree with a walk over its entries.

use super::*;
use crate::debug_info::InScope;
use crate::debug_info::function::Function;

/// Objects of each compiler, optimized, with inlined calls, blocks and split units.
const OBJECTS: [&str; 7] = [
    "units-gfx90a.hsaco",
    "inlined-gfx942-O2.hsaco",
    "inlined-gfx1100-O1-dwarf4.hsaco",
    "llvm24-pressure-gfx90a-O0.hsaco",
    "rocm-calls-gfx90a-O2.hsaco",
    "clang18-hip-gfx90a-O2.hsaco",
    "gcc12-offload-gfx906-O1.hsaco",
];

/// Addresses at which the scopes of a function change, and those before and after.
fn boundaries(info: &DebugInfo<'_>, function: &Function<'_>) -> Vec<u64> {
    let mut dies = info.subtree(function.die).unwrap();
    let mut found = vec![];
    while let Some(die) = dies.next_ref().unwrap() {
        if die.is_null() {
            continue;
        }
        for range in info.ranges(die, &info.for_query()).unwrap() {
            found.extend([
                range.start.saturating_sub(1),
                range.start,
                range.end - 1,
                range.end,
            ]);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn a_tree_of_scopes_says_what_a_walk_says() {
    let (mut trees, mut compared) = (0, 0);
    for object in OBJECTS {
        let sections = sections(object);
        let info = load(&sections);
        let functions = info
            .unit_ids()
            .flat_map(|unit| info.functions(unit).unwrap());
        // Every tenth of GCC's eleven hundred functions.
        let step = if object.contains("gcc") { 10 } else { 1 };
        for function in functions.step_by(step) {
            let Some(tree) = info.scope_tree(function.die) else {
                continue;
            };
            trees += 1;
            for pc in boundaries(&info, &function) {
                let meter = info.for_query();
                let walked = info.scopes_at(function.die, pc, &meter).unwrap();
                let mut around: Vec<_> = tree
                    .around(pc)
                    .map(|number| tree.scope(number).unwrap().id)
                    .collect();
                around.reverse();
                let walked: Vec<_> = walked.scopes.iter().map(|scope| scope.die.id()).collect();
                assert_eq!(around, walked, "{object} {pc:#x}");
                let kept = info.variables_at(&function, pc).unwrap();
                let mut walked = InScope::default();
                info.walked_variables(function.die, pc, &meter, &mut walked)
                    .unwrap();
                assert_eq!(
                    format!("{kept:?}"),
                    format!("{:?}", walked.variables),
                    "{object} {pc:#x}"
                );
                // Both assign the same variables to each frame.
                let known = info.known_variables(function.die, pc).unwrap();
                assert_eq!(known.ends, walked.ends, "{object} {pc:#x}");
                let calls = info
                    .inlined_chain(&function, pc, &info.for_query())
                    .unwrap();
                assert_eq!(known.ends.len(), calls.len(), "{object} {pc:#x}");
                compared += 1;
            }
        }
    }
    assert!(trees > 50 && compared > 1000, "{trees} {compared}");
}

#[test]
fn frames_have_what_function_calls_and_line_say() {
    let mut inlined = 0;
    for object in OBJECTS {
        let sections = sections(object);
        let info = load(&sections);
        let functions = info
            .unit_ids()
            .flat_map(|unit| info.functions(unit).unwrap());
        for function in functions.step_by(if object.contains("gcc") { 10 } else { 1 }) {
            for pc in boundaries(&info, &function) {
                let Some(function) = info.find_function(pc).unwrap() else {
                    continue;
                };
                let line = info.line_at(pc).unwrap();
                let number = |number: u64| Some(number).filter(|number| *number != 0);
                let mut place = match line {
                    Some(line) => {
                        let start = number(line.line);
                        let column = start.and_then(|_| number(line.column));
                        (line.file, start, column)
                    }
                    None => (None, None, None),
                };
                let mut expected = vec![];
                for call in info
                    .inlined_chain(&function, pc, &info.for_query())
                    .unwrap()
                {
                    expected.push((Some(call.die), call.name.map(Cow::into_owned), place));
                    let column = call.call_line.and(call.call_column);
                    place = (call.call_file, call.call_line, column);
                    inlined += 1;
                }
                let name = function.name.map(Cow::into_owned);
                expected.push((Some(function.die), name, place));
                let frames = info.source_frames(pc).unwrap().map(|frame| {
                    let place = (frame.file(), frame.line(), frame.column());
                    (frame.die(), frame.name().map(str::to_owned), place)
                });
                assert_eq!(frames.collect::<Vec<_>>(), expected, "{object} {pc:#x}");
            }
        }
    }
    assert!(inlined > 500, "{inlined}");
}
