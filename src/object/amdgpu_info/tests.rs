use super::*;
use crate::limits::Limits;
use crate::object::testing::{
    PROGBITS, RELA, STRTAB, SYMTAB, linked, rela, relocatable, section, symbol,
};

/// `R_AMDGPU_ABS64`.
const ABS64: u32 = 3;
const FUNCTION: u8 = 0x12;

/// Entries, with a symbol's number where a symbol is referred to.
enum Item {
    Symbol(u8, u32, i64),
    Number(u8, u32),
    Bytes(u8, &'static [u8]),
}
use Item::{Bytes, Number, Symbol as Reference};

/// Returns an object with functions 1 to 4 (`a`, `b`, `c`, `d`, the last undefined) at 0, 8, 16 of `.text`, and a symbol 5 of that section.
fn object(items: &[Item], strings: &[u8]) -> Vec<u8> {
    let (mut info, mut relocations) = (Vec::new(), Vec::new());
    for item in items {
        match *item {
            Reference(kind, number, addend) => {
                info.extend([kind, 8]);
                relocations.extend(rela(info.len() as u64, ABS64, number, addend));
                info.extend([0; 8]);
            }
            Number(kind, number) => {
                info.extend([kind, 4]);
                info.extend(number.to_le_bytes());
            }
            Bytes(kind, bytes) => {
                info.extend([kind, bytes.len() as u8]);
                info.extend(bytes);
            }
        }
    }
    with_info(&info, &relocations, strings)
}

fn with_info(info: &[u8], relocations: &[u8], strings: &[u8]) -> Vec<u8> {
    let mut symbols = symbol(0, 0, 0, 0, 0);
    symbols.extend(symbol(1, FUNCTION, 1, 0, 8));
    symbols.extend(symbol(3, FUNCTION, 1, 8, 8));
    symbols.extend(symbol(5, FUNCTION, 1, 16, 8));
    symbols.extend(symbol(7, FUNCTION, 0, 0, 0));
    symbols.extend(symbol(0, 3, 1, 0, 0));
    relocatable(&[
        section(".text", PROGBITS, &[0; 24]).flags(6),
        section(".symtab", SYMTAB, &symbols).linked(3, 1),
        section(".strtab", STRTAB, b"\0a\0b\0c\0d\0"),
        section(SECTION, PROGBITS, info),
        section(".rela.amdgpu.info", RELA, relocations).linked(2, 4),
        section(STRINGS, STRTAB, strings),
    ])
}

fn infos(file: &[u8]) -> Result<Vec<FunctionInfo>> {
    CodeObject::parse(file).unwrap().function_infos()
}

fn names(list: &[Untrusted<'_>]) -> Vec<String> {
    list.iter().map(|name| name.raw().to_owned()).collect()
}

#[test]
fn entries_are_those_of_the_function_before_them() {
    let file = object(
        &[
            Reference(1, 1, 0),
            Number(2, 5),
            Number(3, 33),
            Number(4, 40),
            Number(5, 8),
            Number(6, 16),
            Reference(7, 3, 0),
            Reference(8, 2, 0),
            // A reference to the section, so to the function at its offset 16.
            Reference(8, 5, 16),
            Number(9, 1),
            // Kinds of a later version.
            Bytes(200, b"later"),
            Bytes(201, b""),
            Reference(1, 2, 0),
            Number(10, 4),
        ],
        b"\0vi\0vii",
    );
    let [a, b] = &infos(&file).unwrap()[..] else {
        panic!("two functions");
    };
    assert_eq!((a.name.raw(), b.name.raw()), ("a", "b"));
    assert_eq!(
        (a.uses_vcc, a.uses_flat_scratch, a.dynamic_stack),
        (Some(true), Some(false), Some(true))
    );
    assert_eq!(
        (a.own.sgprs, a.own.vgprs, a.own.agprs),
        (Some(33), Some(40), Some(8))
    );
    assert_eq!(a.own.private_segment_size, Some(16));
    assert_eq!(
        (names(&a.uses), names(&a.calls)),
        (vec!["c".to_owned()], vec!["b".to_owned(), "c".to_owned()])
    );
    // The last string is not terminated.
    assert_eq!(
        (names(&a.indirect_calls), names(&b.type_ids)),
        (vec!["vi".to_owned()], vec!["vii".to_owned()])
    );
    assert_eq!(b.own, Resources::default());
    assert_eq!((b.uses_vcc, b.dynamic_stack), (None, None));
}

/// Builds functions with registers, scratch and callees.
fn graph(calls: &[(u32, u32, u32, &[u32])]) -> Vec<FunctionInfo> {
    let mut items = Vec::new();
    for &(number, vgprs, scratch, callees) in calls {
        items.push(Reference(1, number, 0));
        items.push(Number(4, vgprs));
        items.push(Number(6, scratch));
        items.extend(callees.iter().map(|&callee| Reference(8, callee, 0)));
    }
    infos(&object(&items, b"")).unwrap()
}

fn sum(function: &FunctionInfo) -> (Option<u32>, Option<u64>, Vec<&'static str>) {
    let all = function.with_callees;
    (all.vgprs, all.private_segment_size, function.open.clone())
}

#[test]
fn callees_are_added_by_their_deepest_chain() {
    // a calls b and c, b calls c: scratch 16 + 32 + 4; c has the most registers.
    let found = graph(&[(1, 10, 16, &[2, 3]), (2, 20, 32, &[3]), (3, 30, 4, &[])]);
    assert_eq!(sum(&found[0]), (Some(30), Some(52), vec![]));
    assert_eq!(sum(&found[1]), (Some(30), Some(36), vec![]));
    assert_eq!(sum(&found[2]), (Some(30), Some(4), vec![]));
    // The order of the file does not matter.
    let found = graph(&[(3, 30, 4, &[]), (2, 20, 32, &[3]), (1, 10, 16, &[2, 3])]);
    assert_eq!(sum(&found[2]), (Some(30), Some(52), vec![]));
}

#[test]
fn what_is_not_known_of_callees_is_said() {
    // d is described elsewhere, and a calls b, which calls it.
    let found = graph(&[(1, 10, 16, &[2]), (2, 20, 32, &[4])]);
    assert_eq!(sum(&found[0]), (Some(20), Some(48), vec![ELSEWHERE]));
    // A function that calls itself, and two that call each other.
    let found = graph(&[(1, 10, 16, &[1])]);
    assert_eq!(sum(&found[0]), (Some(10), Some(16), vec![RECURSION]));
    let found = graph(&[(1, 10, 16, &[2]), (2, 20, 32, &[1])]);
    assert_eq!(sum(&found[0]), (Some(20), Some(48), vec![RECURSION]));
    // By address: the functions with this type in the same object.
    let items = [
        Reference(1, 1, 0),
        Number(6, 16),
        Number(9, 0),
        Reference(1, 2, 0),
        Number(6, 8),
        Number(10, 0),
        Reference(1, 3, 0),
        Number(6, 4),
    ];
    let found = infos(&object(&items, b"v\0")).unwrap();
    assert_eq!(sum(&found[0]), (None, Some(24), vec![INDIRECT]));
}

#[test]
fn malformed_entries_are_errors() {
    let info = [&[1, 8][..], &[0; 8]].concat();
    let named = rela(2, ABS64, 1, 0);
    assert_eq!(infos(&with_info(&info, &named, b"")).unwrap().len(), 1);
    for (info, relocations) in [
        // No relocation; a symbol that is not there; a section's at an offset without a function; an undefined number 0.
        (info.clone(), vec![]),
        (info.clone(), rela(2, ABS64, 99, 0)),
        (info.clone(), rela(2, ABS64, 5, 4)),
        (info.clone(), rela(2, ABS64, 0, 0)),
        // Truncated; before a function; short; and a missing string.
        (info[..9].to_vec(), named.clone()),
        (vec![1], vec![]),
        (vec![3, 4, 0, 0, 0, 0], vec![]),
        ([&info[..], &[3, 2, 0, 0]].concat(), named.clone()),
        ([&info[..], &[10, 4, 0, 0, 0, 0]].concat(), named.clone()),
    ] {
        assert!(
            infos(&with_info(&info, &relocations, b"")).is_err(),
            "{info:?}"
        );
    }
    // Linked objects have none.
    assert_eq!(
        infos(&linked(&[section(".text", PROGBITS, &[0; 4])])).unwrap(),
        []
    );
}

#[test]
fn a_long_chain_and_many_targets_are_followed_within_limits() {
    // Functions that each call the next one by its type.
    let mut items = Vec::new();
    let count = 2000_u32;
    let strings: Vec<u8> = (0..=count)
        .flat_map(|n| format!("{n:07}\0").into_bytes())
        .collect();
    for number in 0..count {
        items.push(Reference(1, 1, 0));
        items.push(Number(6, 1));
        items.push(Number(10, number * 8));
        items.push(Number(9, (number + 1) * 8));
    }
    let found = infos(&object(&items, &strings)).unwrap();
    assert_eq!(
        found[0].with_callees.private_segment_size,
        Some(u64::from(count))
    );
    // All functions have one type, and all call it: as many calls as the square.
    let items: Vec<Item> = (0..20_000)
        .flat_map(|_| [Reference(1, 1, 0), Number(10, 0), Number(9, 0)])
        .collect();
    let file = object(&items, b"v\0");
    let limits = Limits {
        work: 1 << 22,
        work_per_byte: 0,
        ..Limits::DEFAULT
    };
    let error = CodeObject::parse_with(&file, &limits)
        .unwrap()
        .function_infos()
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}
