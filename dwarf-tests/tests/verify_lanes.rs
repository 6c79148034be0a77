//! Compares the lane attributes of functions with the machine code: correct objects have no findings, and changes to them are found.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a failure here is a failure of the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;

use dwarf_tests::simulator::Random;
use dwarf_tests::{fixture, json, lane_cases, llvm_tool};
use hetdwarf::Limits;
use hetdwarf::annotate::{Request, annotate};
use hetdwarf::inspect::Program;
use hetdwarf::object::CodeObject;
use hetdwarf::verify::{Finding, Rule, Selection, Severity, verify_with};

/// Returns the findings of the rules about lanes.
fn findings(file: &[u8]) -> Vec<Finding> {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let mut selection = Selection::default();
    selection.only(["lane-*"]).unwrap();
    let verdict = verify_with(&program, &selection, NonZeroUsize::MIN);
    assert_eq!(verdict.stopped, None);
    verdict.findings
}

fn text(findings: &[Finding]) -> String {
    let lines = findings.iter().take(8).map(|finding| {
        let rule = finding.rule.id;
        format!(
            "{rule} {:?}: {} ({:?})\n",
            finding.function, finding.message, finding.help
        )
    });
    lines.collect()
}

fn annotated(path: &PathBuf) -> Vec<u8> {
    let mut request = Request::new(&|_| true);
    request.active_lane = true;
    annotated_as(path, &request)
}

fn annotated_as(path: &PathBuf, request: &Request<'_>) -> Vec<u8> {
    let file = std::fs::read(path).unwrap();
    annotate(&file, &Limits::default(), request).unwrap().file
}

fn lane_objects() -> Vec<PathBuf> {
    let cases = lane_cases().into_iter();
    let objects = cases.map(|case| {
        let truth = json(&case.join("truth.json"));
        case.join(truth["object"].as_str().unwrap())
    });
    objects.collect()
}

/// The objects were written by hand, following the specification's example.
#[test]
fn what_was_written_by_hand_is_right() {
    let mut seen = 0;
    for name in ["lane_pc.hsaco", "lane_pc_wave32.hsaco"] {
        let file = std::fs::read(fixture("corpus/rocm-style").join(name)).unwrap();
        let found = findings(&file);
        assert!(found.is_empty(), "{name}\n{}", text(&found));
        seen += 1;
    }
    assert_eq!(seen, 2);
}

/// The objects cover each construct, target and level.
#[test]
fn what_recovery_wrote_is_right() {
    let mut seen = 0;
    for path in lane_objects().iter().step_by(3) {
        let found = findings(&annotated(path));
        assert!(found.is_empty(), "{}\n{}", path.display(), text(&found));
        seen += 1;
    }
    assert!(seen > 8, "{seen}");
}

/// The loops of `leaving.cl` are left in many ways, and at -O0 each way has masks in lanes of its own. Lanes are located in nine tenths of the
/// code, and the attributes can be checked within the default limits.
#[test]
fn loops_that_are_left_in_many_ways_are_annotated_and_checked() {
    let file = std::fs::read(fixture("annotate/leaving-gfx90a-O0.hsaco")).unwrap();
    let mut request = Request::new(&|_| true);
    request.active_lane = true;
    let done = annotate(&file, &Limits::default(), &request).unwrap();
    let [covered, all] = done.functions.iter().fold([0, 0], |[covered, all], one| {
        [covered + one.covered, all + one.size]
    });
    assert!(10 * covered >= 9 * all, "{covered} of {all}");
    let found = findings(&done.file);
    // Code without positions has a note.
    let wrong = found.iter().any(|one| one.rule.id != "lane-pc-missing");
    assert!(!wrong, "{}", text(&found));
}

/// An entry of a location list: the offsets of its ends and of its expression in the file.
struct Entry {
    ends: [std::ops::Range<usize>; 2],
    expression: std::ops::Range<usize>,
}

fn uleb(bytes: &[u8], at: &mut usize) -> (u64, std::ops::Range<usize>) {
    let start = *at;
    let mut value = 0;
    loop {
        let byte = bytes[*at];
        value |= u64::from(byte & 0x7f) << (7 * (*at - start));
        *at += 1;
        if byte & 0x80 == 0 {
            return (value, start..*at);
        }
    }
}

/// Replaces a number by another one with the same number of bytes.
fn put_uleb(bytes: &mut [u8], at: std::ops::Range<usize>, value: u64) {
    let last = at.len() - 1;
    for (n, byte) in bytes[at].iter_mut().enumerate() {
        let more = if n < last { 0x80 } else { 0 };
        *byte = (value >> (7 * n)) as u8 & 0x7f | more;
    }
}

/// Returns the lists that `annotate` added at the end of `.debug_loclists`: program locations, or active lanes.
fn lists(file: &[u8], of_active: bool) -> Vec<Vec<Entry>> {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let mut sections = object.sections().iter();
    let section = sections.find(|section| section.name == ".debug_loclists");
    let first = usize::try_from(section.unwrap().offset).unwrap();
    let mut found = Vec::new();
    for unit in program.info().unit_ids() {
        for function in program.info().functions(unit).unwrap() {
            let simt = &function.simt;
            let attribute = if of_active {
                simt.active_lane
            } else {
                simt.lane_pc
            };
            let Some(hetdwarf::eval::LocationAttribute::List { offset, .. }) = attribute else {
                continue;
            };
            // DW_LLE_base_address, and then pairs of offsets up to the end of the list.
            let mut at = first + usize::try_from(offset).unwrap();
            assert_eq!(file[at], 6);
            at += 9;
            let mut entries = Vec::new();
            while file[at] == 4 {
                at += 1;
                let (_, start) = uleb(file, &mut at);
                let (_, end) = uleb(file, &mut at);
                let (length, _) = uleb(file, &mut at);
                let expression = at..at + usize::try_from(length).unwrap();
                at = expression.end;
                let ends = [start, end];
                entries.push(Entry { ends, expression });
            }
            assert_eq!(file[at], 0);
            found.push(entries);
        }
    }
    found
}

/// Returns the positions of `DW_OP_addr` and `DW_OP_stack_value` in an expression, which form a constant position.
fn places(file: &[u8], entry: &Entry) -> Vec<usize> {
    let range = entry.expression.clone();
    let is_place = |at: &usize| {
        // Addresses of these objects are below 64 KiB.
        file[*at] == 0x03 && file[at + 9] == 0x9f && file[at + 3..at + 9] == [0; 6]
    };
    (range.start..range.end.saturating_sub(9))
        .filter(is_place)
        .collect()
}

type Mutation = (
    &'static str,
    &'static [&'static str],
    fn(&[u8], &mut Random) -> Option<Vec<u8>>,
);

fn any<'t, T>(list: &'t [T], random: &mut Random) -> Option<&'t T> {
    (!list.is_empty()).then(|| &list[random.below(list.len())])
}

/// Changes bytes of one of the positions in any expression.
fn at_place(
    file: &[u8],
    random: &mut Random,
    change: impl Fn(&mut [u8], &[usize], &mut Random) -> bool,
) -> Option<Vec<u8>> {
    let lists = lists(file, false);
    let entry = any(any(&lists, random)?, random)?;
    let places = places(file, entry);
    let mut file = file.to_vec();
    (!places.is_empty() && change(&mut file, &places, random)).then_some(file)
}

const MUTATIONS: [Mutation; 9] = [
    (
        "a place is an instruction's before the function",
        &["lane-pc-wrong-place"],
        |file, random| {
            at_place(file, random, |file, places, random| {
                let at = places[random.below(places.len())];
                file[at + 1..at + 3].copy_from_slice(&[4, 0]);
                true
            })
        },
    ),
    (
        "a place is 64 bytes further on",
        &["lane-pc-wrong-place"],
        |file, random| {
            at_place(file, random, |file, places, random| {
                let at = places[random.below(places.len())];
                let old = u16::from_le_bytes([file[at + 1], file[at + 2]]);
                file[at + 1..at + 3].copy_from_slice(&(old + 64).to_le_bytes());
                true
            })
        },
    ),
    (
        "two places are exchanged",
        &["lane-pc-wrong-place", "lane-pc-not-entered", "lane-pc-lost"],
        |file, random| {
            at_place(file, random, |file, places, random| {
                let [one, other] = [(); 2].map(|()| places[random.below(places.len())]);
                let [a, b] = [one, other].map(|at| [file[at + 1], file[at + 2]]);
                file[one + 1..one + 3].copy_from_slice(&b);
                file[other + 1..other + 3].copy_from_slice(&a);
                a != b
            })
        },
    ),
    ("a place is undefined", &["lane-pc-lost"], |file, random| {
        at_place(file, random, |file, places, random| {
            let at = places[random.below(places.len())];
            // DW_OP_LLVM_user DW_OP_LLVM_undefined, and DW_OP_nop.
            file[at] = 0xe9;
            file[at + 1] = 0x08;
            file[at + 2..at + 10].fill(0x96);
            true
        })
    }),
    (
        "an entry holds nowhere",
        &["lane-pc-missing"],
        |file, random| {
            let lists = lists(file, false);
            let entry = any(any(&lists, random)?, random)?;
            let [start, end] = entry.ends.clone();
            let (value, _) = uleb(file, &mut start.clone().start);
            let mut file = file.to_vec();
            put_uleb(&mut file, end, value);
            Some(file)
        },
    ),
    (
        "an entry holds where the one before it should",
        &[
            "lane-pc-wrong-place",
            "lane-pc-lost",
            "lane-pc-not-entered",
            "lane-pc-no-mask",
        ],
        |file, random| {
            let lists = lists(file, false);
            let list = any(&lists, random)?;
            let at = random.below(list.len().checked_sub(1).filter(|last| *last > 0)?);
            let [start, end] = list[at].ends.clone();
            let [next, _] = list[at + 1].ends.clone();
            // These are the positions of lanes that the other entry does not have.
            let [here, there] = [&list[at], &list[at + 1]].map(|entry| {
                let places = places(file, entry).into_iter();
                places
                    .map(|at| [file[at + 1], file[at + 2]])
                    .collect::<BTreeSet<_>>()
            });
            (here.difference(&there).next().is_some()).then_some(())?;
            let (value, _) = uleb(file, &mut start.clone().start);
            let mut file = file.to_vec();
            put_uleb(&mut file, end, value);
            put_uleb(&mut file, next, value);
            Some(file)
        },
    ),
    (
        "what says where lanes did not enter says that they are at address 5",
        &["lane-pc-not-entered"],
        |file, random| {
            let lists = lists(file, false);
            let entry = any(any(&lists, random)?, random)?;
            let range = entry.expression.clone();
            let at = range
                .clone()
                .find(|at| file[*at..*at + 2] == [0xe9, 0x08])?;
            let mut file = file.to_vec();
            // DW_OP_lit5, DW_OP_stack_value.
            file[at..at + 2].copy_from_slice(&[0x35, 0x9f]);
            Some(file)
        },
    ),
    (
        "a mask is read from another register",
        &[
            "lane-pc-no-mask",
            "lane-pc-wrong-place",
            "lane-pc-lost",
            "lane-pc-not-entered",
        ],
        |file, random| {
            let lists = lists(file, false);
            let entry = any(any(&lists, random)?, random)?;
            // Searches for DW_OP_regx of one of the first scalar registers, and DW_OP_deref_size 4.
            let range = entry.expression.clone();
            let is_mask = |at: &usize| {
                file[*at] == 0x90
                    && (32..64).contains(&file[at + 1])
                    && file[at + 2..at + 4] == [0x94, 4]
            };
            let masks: Vec<usize> = (range.start..range.end.saturating_sub(4))
                .filter(is_mask)
                .collect();
            let at = *any(&masks, random)?;
            let mut file = file.to_vec();
            let old = file[at + 1];
            file[at + 1] = 32 + u8::try_from(random.below(32)).unwrap();
            (file[at + 1] != old).then_some(file)
        },
    ),
    (
        "EXEC is active where other lanes are on",
        &["lane-active-wrong"],
        |file, random| {
            let lists = lists(file, true);
            let entry = any(any(&lists, random)?, random)?;
            // DW_OP_regx with a number of one byte, and its load. EXEC of 32 lanes is register 1.
            let at = entry.expression.start;
            (file[at] == 0x90 && file[at + 1] < 0x80 && file[at + 1] != 1).then_some(())?;
            let mut file = file.to_vec();
            file[at + 1] = 1;
            Some(file)
        },
    ),
];

#[test]
fn what_is_changed_is_found() {
    let names = [
        "ifelse-gfx1100-O2",
        "nested-gfx1100-O2",
        "earlyret-gfx1100-O2",
        "whilebrk-gfx1100-O2",
        "divcalls-gfx1100-O0",
        "sw-gfx1100-O2",
    ];
    let files = names.map(|name| annotated(&fixture(&format!("lanes/{name}/{name}.hsaco"))));
    let mut random = Random::new(18);
    let mut figures: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut missed = Vec::new();
    let mut rules_seen = BTreeSet::new();
    for (what, rules, apply) in MUTATIONS {
        for attempt in 0..400 {
            let (_, tried) = *figures.entry(what).or_default();
            if tried == 12 {
                break;
            }
            let Some(file) = apply(&files[attempt % files.len()], &mut random) else {
                continue;
            };
            let found = findings(&file);
            rules_seen.extend(found.iter().map(|finding| finding.rule.id));
            let is_found = found.iter().any(|finding| rules.contains(&finding.rule.id));
            let figure = figures.get_mut(what).unwrap();
            figure.0 += usize::from(is_found);
            figure.1 += 1;
            if !is_found {
                missed.push(format!("{what}: {}", text(&found)));
            }
        }
    }
    println!("{figures:#?}\n{rules_seen:?}\n{}", missed.join("\n"));
    let mut total = (0, 0);
    for (what, (found, tried)) in figures {
        assert!(tried == 12, "{what}: {tried}");
        assert!(found * 2 >= tried, "{what}: {found} of {tried}");
        total = (total.0 + found, total.1 + tried);
    }
    // Mistakes that are not found concern positions for mask bits that no lane has, or one of several positions that the code allows.
    assert!(total.0 * 4 >= total.1 * 3, "{total:?}");
    let rules: BTreeSet<&str> = (Rule::all().map(|rule| rule.id))
        .filter(|id| id.starts_with("lane-") && *id != "lane-active-missing")
        .collect();
    assert_eq!(rules_seen, rules);
}

/// By default `DW_AT_LLVM_active_lane` is not written (0x3e08, which LLVM's tools take for another attribute). If EXEC has inactive lanes,
/// there is a note.
#[test]
fn what_does_not_say_which_lanes_are_active_is_no_fault() {
    let name = "divcalls-gfx1030w64-O2-llvm24";
    let path = fixture(&format!("lanes/{name}/{name}.hsaco"));
    let found = findings(&annotated_as(&path, &Request::new(&|_| true)));
    assert!(!found.is_empty());
    if let Some(tool) = llvm_tool("llvm-dwarfdump") {
        // LLVM 22 has this name for 0x3e08.
        let has_it = |file: &[u8]| {
            let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("active-lane");
            std::fs::write(&path, file).unwrap();
            let ran = Command::new(&tool).arg("--debug-info").arg(&path).output();
            String::from_utf8_lossy(&ran.unwrap().stdout).contains("DW_AT_LLVM_ptrauth_isa_pointer")
        };
        assert!(has_it(&annotated(&path)));
        assert!(!has_it(&annotated_as(&path, &Request::new(&|_| true))));
    }
    for one in &found {
        let expected = ("lane-active-missing", Severity::Note);
        assert_eq!((one.rule.id, one.severity), expected, "{}", text(&found));
    }
}

/// An entry of a location list gives a position for each of several kinds of lanes, by their masks. Each position is compared with the
/// code.
#[test]
fn every_place_of_an_entry_is_checked() {
    let mut tried = 0;
    // The last one has waves of 64 lanes, with a separate mask for the upper half.
    for name in [
        "ifelse-gfx1100-O2",
        "nested-gfx1100-O2",
        "sw-gfx1100-O2",
        "nested-gfx942-O1-plain",
    ] {
        let file = annotated(&fixture(&format!("lanes/{name}/{name}.hsaco")));
        for entry in lists(&file, false).iter().flatten() {
            let places = places(&file, entry);
            for at in places.iter().filter(|_| places.len() > 1) {
                // The position is changed to an address before every function.
                let mut file = file.clone();
                file[at + 1..at + 3].copy_from_slice(&[4, 0]);
                let found = findings(&file);
                let is_found = found.iter().any(|one| {
                    let message = one.message.to_string();
                    one.rule.id == "lane-pc-wrong-place"
                        && (message.contains(" 0x4;") || message.contains(" 0x4 "))
                });
                assert!(is_found, "{name} {at:#x}\n{}", text(&found));
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

/// The attribute says that only lane 1 is active, although EXEC is known. In a wave with two or more inactive lanes that is wrong, but it
/// is right for the first of them.
#[test]
fn active_lanes_of_any_number_are_checked() {
    let name = "divcalls-gfx1100-O0";
    let mut file = annotated(&fixture(&format!("lanes/{name}/{name}.hsaco")));
    let mut changed = 0;
    for entry in lists(&file, true).iter().flatten() {
        let expression = &mut file[entry.expression.clone()];
        // DW_OP_reg1, DW_OP_deref_size 4, DW_OP_stack_value: EXEC.
        if expression == [0x51, 0x94, 4, 0x9f] {
            // DW_OP_lit2, DW_OP_nop, DW_OP_nop, DW_OP_stack_value.
            expression.copy_from_slice(&[0x32, 0x96, 0x96, 0x9f]);
            changed += 1;
        }
    }
    assert!(changed > 10, "{changed}");
    let found = findings(&file);
    let is_active = |one: &&Finding| one.rule.id == "lane-active-wrong";
    assert!(found.iter().any(|one| is_active(&one)), "{}", text(&found));
}
