//! Tests `DW_OP_entry_value`: the value of a register on entry, from the call site's parameters and from call frame information.
//!
//! `outer` at 0x1000 calls `leaf` at 0x1040 with the four bytes at 0x1010, and `leaf` has overwritten its parameter, which was in s4. Each
//! expected value is computed from the registers of the wave.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test"
)]

#[allow(dead_code, reason = "the other test that it belongs to uses all of it")]
#[path = "hostile/elf.rs"]
mod elf;

use elf::{Attribute as A, Entry, code_object, debug_info};
use gimli::*;
use hetdwarf::arch::{Lane, Register, ScratchAddressing, WaveSize};
use hetdwarf::debug_info::types::TypeTable;
use hetdwarf::display::Options;
use hetdwarf::eval::Reading;
use hetdwarf::frame::write::{Common, FrameTable, FunctionFrame, ReturnAddress, Start, Target};
use hetdwarf::inspect::{Program, Stop, StopOptions, ValueState, VariableValue};
use hetdwarf::limits::Limits;
use hetdwarf::location::Arena;
use hetdwarf::object::CodeObject;
use hetdwarf::wave::Snapshot;

const OUTER: u64 = 0x1000;
const LEAF: u64 = 0x1040;
const RETURN: u64 = OUTER + 0x14;

/// DWARF numbers of s4, s34, s30.
const S4: u8 = 36;
const S34: u8 = 66;

/// The numbers of the entries that occur in every object.
const LONG: usize = 1;
const OUTER_ENTRY: usize = 2;
const FIRST_OF_SITE: usize = 3;

fn s(number: u16) -> Register {
    Register::sgpr(number).unwrap()
}

fn frames(saved: bool) -> Vec<u8> {
    let target = Target {
        wave_size: WaveSize::Wave64,
        scratch: ScratchAddressing::Buffer,
    };
    let frame = |at| FunctionFrame::new(target, &Common::new(), Start::Address(at), 64).unwrap();
    let mut kernel = frame(OUTER);
    kernel.kernel_entry().unwrap();
    let mut leaf = frame(LEAF);
    leaf.cfa_from_stack_pointer(s(32)).unwrap();
    leaf.return_address_in(ReturnAddress::Pair(s(30))).unwrap();
    if saved {
        leaf.at(8).unwrap().saved_in_register(s(4), s(20)).unwrap();
    }
    let mut table = FrameTable::new();
    table.add(kernel).add(leaf);
    table.write().unwrap().bytes
}

fn entry(depth: usize, tag: DwTag, attributes: Vec<(DwAt, A)>) -> Entry {
    let attributes = attributes.into_iter();
    Entry {
        tag: tag.0.into(),
        attributes: attributes
            .map(|(name, value)| (name.0.into(), value))
            .collect(),
        depth,
    }
}

fn code(name: &str, at: u64, more: Vec<(DwAt, A)>) -> Entry {
    let attributes = vec![
        (DW_AT_name, A::name(name)),
        (DW_AT_low_pc, A::address(at)),
        (DW_AT_high_pc, A::number(0x40)),
    ];
    entry(1, DW_TAG_subprogram, [attributes, more].concat())
}

/// Returns the object: `outer` with the entries `site`, and `leaf` with the variable `v` at `location`.
fn object(site: Vec<Entry>, location: &[u8], saved: bool) -> Vec<u8> {
    let functions = [vec![outer()], site, leaf("leaf", location)];
    object_of(functions.concat(), saved)
}

fn outer() -> Entry {
    // lit, addr 0x7000: memory.
    let base = [&[0x03][..], &0x7000u64.to_le_bytes()].concat();
    let attributes = vec![(DW_AT_frame_base, A::expression(&base))];
    code("outer", OUTER, attributes)
}

fn leaf(name: &str, location: &[u8]) -> Vec<Entry> {
    let v = vec![
        (DW_AT_name, A::name("v")),
        (DW_AT_type, A::Entry(LONG)),
        (DW_AT_location, A::expression(location)),
    ];
    vec![code(name, LEAF, vec![]), entry(2, DW_TAG_variable, v)]
}

/// Returns an object with these entries after the first two.
fn object_of(functions: Vec<Entry>, saved: bool) -> Vec<u8> {
    // The producer is not LLVM, so registers are read exactly as specified.
    object_by("GNU C17 12.2.0", functions, saved)
}

/// Returns an object like [`object_of`] by a given producer.
fn object_by(producer: &str, functions: Vec<Entry>, saved: bool) -> Vec<u8> {
    let unit = vec![
        (DW_AT_low_pc, A::address(OUTER)),
        (DW_AT_high_pc, A::number(0x80)),
        (DW_AT_producer, A::name(producer)),
    ];
    let long = vec![
        (DW_AT_name, A::name("long")),
        (DW_AT_byte_size, A::number(8)),
        (DW_AT_encoding, A::number(5)),
    ];
    let mut entries = vec![
        entry(0, DW_TAG_compile_unit, unit),
        entry(1, DW_TAG_base_type, long),
    ];
    entries.extend(functions);
    let (abbreviations, info) = debug_info(&entries);
    code_object(&[
        (".text", &text()),
        (".debug_abbrev", &abbreviations),
        (".debug_info", &info),
        (".debug_frame", &frames(saved)),
    ])
}

/// Returns the machine code, in which `leaf` copies s4 to s20 and overwrites it.
fn text() -> Vec<u8> {
    // s_nop 0; s_mov_b32 s20, s4; s_mov_b32 s4, 7.
    let mut words = [0xbf80_0000_u32; 32];
    (words[17], words[18]) = (0xbe94_0004, 0xbe84_0087);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns a call site that returns to `returns` and calls the entry `callee`, with a value for s4.
fn site(returns: u64, callee: usize, value: &[u8]) -> Vec<Entry> {
    let attributes = vec![
        (DW_AT_call_return_pc, A::address(returns)),
        (DW_AT_call_origin, A::Entry(callee)),
    ];
    let parameter = vec![
        // regx.
        (DW_AT_location, A::expression(&[0x90, S4])),
        (DW_AT_call_value, A::expression(value)),
    ];
    vec![
        entry(2, DW_TAG_call_site, attributes),
        entry(3, DW_TAG_call_site_parameter, parameter),
    ]
}

/// Returns the number of `leaf` after this many entries of the call site.
fn leaf_after(entries: usize) -> usize {
    FIRST_OF_SITE + entries
}

/// entry_value(regx s4), stack_value.
const ON_ENTRY: [u8; 5] = [0xa3, 2, 0x90, S4, 0x9f];
/// bregx s34+1.
const S34_PLUS_1: [u8; 3] = [0x92, S34, 1];

/// Returns a wave that stopped in `leaf` with s34 = 41, and with these additional registers and memory.
fn stopped_in_leaf(registers: &str, memory: &str) -> Snapshot {
    let json = format!(
        r#"{{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "{:#x}",
            "registers": {{"exec": "0x1", "s30": "{RETURN:#x}", "s31": 0, "s32": 256, "s34": 41{registers}}},
            "memory": [{memory}]}}"#,
        LEAF + 0x10
    );
    Snapshot::from_json(json.as_bytes()).unwrap()
}

/// The value of the only variable of `leaf` in lane 0, and the steps of the query.
struct Answer {
    state: ValueState,
    text: String,
    steps: u64,
}

/// Queries a wave that stopped in `leaf`, whose stack is `leaf` and `outer`.
fn ask(program: &Program<'_>, wave: &Snapshot, reading: Reading) -> Answer {
    let arena = Arena::new();
    let mut options = StopOptions::default();
    options.reading = reading;
    let stop = Stop::new(program, wave, wave.pc(), options, &arena);
    assert_eq!(stop.call_frames().len(), 2);
    let mut types = TypeTable::default();
    let variables = stop.call_frame(0).unwrap().variables(&mut types).unwrap();
    let v = &variables[0];
    let text = v.text(Lane(0), &types, &Options::default());
    Answer {
        state: v.state(Lane(0)),
        text: text.unwrap_or_default(),
        steps: stop.meter().steps(),
    }
}

/// Returns the state and text of `v` in lane 0. In the wave s4 is 7, s20 is 20, s34 is 41, and the number at 0x7008 is 99.
fn value(file: &[u8], reading: Reading) -> (ValueState, String) {
    let object = CodeObject::parse(file).unwrap();
    let program = Program::load(&object).unwrap();
    let bytes = format!("{}{:02x}{}", "00".repeat(8), 99, "00".repeat(7));
    let memory = format!(r#"{{"space": "none", "address": "0x7000", "bytes": "{bytes}"}}"#);
    let wave = stopped_in_leaf(r#", "s4": 7, "s20": 20"#, &memory);
    let found = ask(&program, &wave, reading);
    (found.state, found.text)
}

fn tolerant(site: Vec<Entry>, saved: bool) -> (ValueState, String) {
    value(&object(site, &ON_ENTRY, saved), Reading::Tolerant)
}

#[test]
fn the_value_is_what_the_call_site_says_of_the_register() {
    let found = tolerant(site(RETURN, leaf_after(2), &S34_PLUS_1), false);
    assert_eq!(found, (ValueState::Ok, "42".to_owned()));
    // The call site takes precedence over a rule for the register, which would give 20.
    let found = tolerant(site(RETURN, leaf_after(2), &S34_PLUS_1), true);
    assert_eq!(found, (ValueState::Ok, "42".to_owned()));
}

/// `DW_OP_GNU_entry_value`, `DW_TAG_GNU_call_site` and related names, as gcc wrote before DWARF 5. reg4 would be s4 on no target, so the
/// register is given by regx here too.
#[test]
fn the_spellings_of_gnu_mean_the_same() {
    let attributes = vec![
        (DW_AT_low_pc, A::address(RETURN)),
        (DW_AT_abstract_origin, A::Entry(leaf_after(2))),
    ];
    let parameter = vec![
        (DW_AT_location, A::expression(&[0x90, S4])),
        (DW_AT_GNU_call_site_value, A::expression(&S34_PLUS_1)),
    ];
    let site = vec![
        entry(2, DW_TAG_GNU_call_site, attributes),
        entry(3, DW_TAG_GNU_call_site_parameter, parameter),
    ];
    let file = object(site, &[0xf3, 2, 0x90, S4, 0x9f], false);
    let found = value(&file, Reading::Tolerant);
    assert_eq!(found, (ValueState::Ok, "42".to_owned()));
}

/// The call site is in a block of the function. Its value needs the caller's frame: fbreg 8, deref.
#[test]
fn it_is_evaluated_in_the_frame_and_function_of_the_caller() {
    let mut entries = vec![entry(2, DW_TAG_lexical_block, vec![])];
    for (depth, mut part) in [3, 4]
        .into_iter()
        .zip(site(RETURN, leaf_after(3), &[0x91, 8, 0x06]))
    {
        part.depth = depth;
        entries.push(part);
    }
    assert_eq!(tolerant(entries, false), (ValueState::Ok, "99".to_owned()));
}

/// In units of LLVM without the extensions, DW_OP_fbreg refers to lane-private memory of the frame. The caller's frame base is unknown
/// there, but a register is known.
#[test]
fn in_a_legacy_unit_the_callers_frame_base_is_not_known() {
    let found = |call_value: &[u8]| {
        let site = site(RETURN, leaf_after(2), call_value);
        let functions = [vec![outer()], site, leaf("leaf", &ON_ENTRY)].concat();
        let file = object_by("clang version 19.1.0", functions, false);
        value(&file, Reading::Tolerant)
    };
    // s4 has the lower 32 bits of a `long`.
    assert_eq!(found(&S34_PLUS_1).0, ValueState::Partial);
    for call_value in [&[0x91, 8, 0x06][..], &[0x91, 8]] {
        let (state, _) = found(call_value);
        assert!(
            matches!(&state, ValueState::Unsupported { what } if what.contains("DW_OP_fbreg")),
            "{state:?}"
        );
    }
}

/// s4 has 32 bits, so const8u 0x1_0000_0005 leaves 5 in it.
#[test]
fn a_register_holds_as_much_as_it_has_room_for() {
    let value = [&[0x0e][..], &0x1_0000_0005u64.to_le_bytes()].concat();
    let found = tolerant(site(RETURN, leaf_after(2), &value), false);
    assert_eq!(found, (ValueState::Ok, "5".to_owned()));
}

/// The register already holds another value where the entry value is used, so 7 would be wrong.
#[test]
fn what_nothing_says_is_not_shown() {
    let nothing = [
        vec![],
        // The site is another call.
        site(RETURN + 4, leaf_after(2), &S34_PLUS_1),
        // The site has no value.
        vec![site(RETURN, leaf_after(1), &S34_PLUS_1).swap_remove(0)],
    ];
    for site in nothing {
        let (state, text) = tolerant(site.clone(), false);
        assert_eq!((state, text.as_str()), (ValueState::OptimizedOut, ""));
        // A rule of call frame information gives the place of the value.
        assert_eq!(tolerant(site, true), (ValueState::Ok, "20".to_owned()));
    }
}

/// According to the call site `outer` called itself, and that call was replaced by a tail call to `leaf`.
#[test]
fn a_tail_call_in_between_hides_the_value() {
    for saved in [false, true] {
        let (state, _) = tolerant(site(RETURN, OUTER_ENTRY, &S34_PLUS_1), saved);
        assert!(
            matches!(&state, ValueState::Unsupported { what } if what.contains("tail call")),
            "{state:?}"
        );
    }
}

/// HET A.2.5.4.3.4: the expression is evaluated in the caller's frame, whose s4 is the same without a rule.
#[test]
fn by_the_letter_only_registers_count() {
    for (saved, text) in [(false, "7"), (true, "20")] {
        let file = object(site(RETURN, leaf_after(2), &S34_PLUS_1), &ON_ENTRY, saved);
        let found = value(&file, Reading::Strict);
        assert_eq!(found, (ValueState::Ok, text.to_owned()));
    }
}

/// gcc's `__multadd (b, m, a)` in newlib at 0x5aef0, where `m` is `entry_value (s28)`. By its call frame information the CFA is s15:s14 -
/// 0x130 and the return address at 8 from it. The arguments at the call sites are in the source of newlib, and `llvm-dwarfdump` shows them:
/// `multadd (b, 10, 0)` in `__s2b` and `_dtoa_r`, and `multadd (b, 5, 0)` in the latter.
#[test]
fn gcc_says_what_it_passes() {
    let file = dwarf_tests::fixture("corpus/gcc12/offload-gfx906-O1.hsaco");
    let data = std::fs::read(file).unwrap();
    let object = CodeObject::parse(&data).unwrap();
    let program = Program::load(&object).unwrap();
    for (returns, caller, m) in [
        (0x595f4u64, "_dtoa_r", "10"),
        (0x59b88, "_dtoa_r", "5"),
        (0x5b29c, "__s2b", "10"),
    ] {
        let address: String = returns
            .to_le_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let json = format!(
            r#"{{"format": "hetdwarf-wave/1", "target": "gfx906", "wave_size": 64, "pc": "0x5aef0",
                "registers": {{"exec": "0x1", "s14": "0x10130", "s15": 0, "s28": "0x1234"}},
                "memory": [{{"space": "none", "address": "0x10008", "bytes": "{address}"}}]}}"#
        );
        let wave = Snapshot::from_json(json.as_bytes()).unwrap();
        let arena = Arena::new();
        let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::default(), &arena);
        let name = stop
            .call_frame(1)
            .unwrap()
            .function()
            .unwrap()
            .unwrap()
            .name;
        assert_eq!(name.as_deref(), Some(caller));
        let mut types = TypeTable::default();
        let variables = stop.call_frame(0).unwrap().variables(&mut types).unwrap();
        let named = |value: &&VariableValue<'_>| value.variable.name.as_deref() == Some("m");
        let found = variables.iter().find(named).unwrap();
        assert_eq!(found.state(Lane(0)), ValueState::Ok);
        let text = found.text(Lane(0), &types, &Options::default());
        assert_eq!(text.as_deref(), Some(m), "from {returns:#x}");
    }
}

/// Returns sites with other return addresses, in front of the wanted site.
fn many_sites(count: u64) -> Vec<Entry> {
    let others = (0..count).flat_map(|n| site(0x8000 + n, OUTER_ENTRY, &S34_PLUS_1));
    let count = usize::try_from(count).unwrap();
    let asked = site(RETURN, leaf_after(2 * (count + 1)), &S34_PLUS_1);
    others.chain(asked).collect()
}

/// Two entries, a site and a parameter, are read and cached for each of the 1,000 sites. The second query does not read them again.
#[test]
fn the_call_sites_of_a_function_are_read_once() {
    let cost = |location: &[u8], questions| {
        let file = object(many_sites(1000), location, false);
        let object = CodeObject::parse(&file).unwrap();
        let program = Program::load(&object).unwrap();
        let wave = stopped_in_leaf("", "");
        for _ in 0..questions {
            let found = ask(&program, &wave, Reading::Tolerant);
            assert_eq!(found.state, ValueState::Ok);
        }
        (object.meter().steps(), object.meter().bytes())
    };
    // const1u 42, stack_value: no call site is needed.
    let none = cost(&[0x08, 42, 0x9f], 1);
    let (once, twice) = (cost(&ON_ENTRY, 1), cost(&ON_ENTRY, 2));
    assert!(once.0 - none.0 >= 2002, "{none:?} {once:?}");
    // A cached site takes 24 bytes for a number and an entry, and about 80 for a register and the position of an expression.
    assert!(once.1 - none.1 >= 1001 * (24 + 72), "{none:?} {once:?}");
    assert!(twice.0 - once.0 < 100, "{once:?} {twice:?}");
    assert_eq!(twice.1, once.1);
}

/// The location of the broken parameter is list 9 of a missing table. It does not affect other sites, but is an error if it precedes the
/// wanted register. Of two sites at one address the first is used.
#[test]
fn a_parameter_that_cannot_be_read_costs_no_other_site() {
    let broken = || {
        let place = A::Bytes(DW_FORM_loclistx.0.try_into().unwrap(), vec![9]);
        let attributes = vec![(DW_AT_location, place)];
        entry(3, DW_TAG_call_site_parameter, attributes)
    };
    let mut sites = site(RETURN + 4, OUTER_ENTRY, &S34_PLUS_1);
    sites.push(broken());
    sites.extend(site(RETURN, leaf_after(7), &S34_PLUS_1));
    sites.extend(site(RETURN, leaf_after(7), &[0x31]));
    let found = tolerant(sites, false);
    assert_eq!(found, (ValueState::Ok, "42".to_owned()));
    for (at, is_found) in [(1, false), (2, true)] {
        let mut sites = site(RETURN, leaf_after(3), &S34_PLUS_1);
        sites.insert(at, broken());
        let (state, _) = tolerant(sites, false);
        assert_eq!(state == ValueState::Ok, is_found, "{at}: {state:?}");
        assert_eq!(
            matches!(state, ValueState::Error(_)),
            !is_found,
            "{state:?}"
        );
    }
}

/// Two calls of four bytes, 8 bytes apart, for which only the start is recorded. The second returns to `RETURN`.
#[test]
fn the_nearest_call_before_an_address_is_the_one() {
    let at = |call: u64, value: &[u8]| {
        let mut site = site(0, leaf_after(4), value);
        site[0].attributes[0] = (DW_AT_call_pc.0.into(), A::address(call));
        site
    };
    // lit1, and s34 + 1.
    let mut sites = at(RETURN - 12, &[0x31]);
    sites.extend(at(RETURN - 4, &S34_PLUS_1));
    assert_eq!(tolerant(sites, false), (ValueState::Ok, "42".to_owned()));
    // The order of the entries does not matter.
    let mut sites = at(RETURN - 4, &S34_PLUS_1);
    sites.extend(at(RETURN - 12, &[0x31]));
    assert_eq!(tolerant(sites, false), (ValueState::Ok, "42".to_owned()));
}

/// No form has the number 0x7f, so nothing after the entry can be read. The parameter may be in the unread part. So neither the register's
/// value nor the value by call frame information is used.
#[test]
fn a_parameter_after_what_cannot_be_read_is_not_known() {
    let broken = || {
        let line = (DW_AT_decl_line.0.into(), A::Bytes(0x7f, vec![9]));
        let mut broken = entry(3, DW_TAG_label, vec![]);
        broken.attributes.push(line);
        broken
    };
    // `leaf` is entry 2 and comes first, because the rest of the unit is not read either.
    let state = |at: usize, saved: bool| {
        let mut entries = leaf("leaf", &ON_ENTRY);
        entries.push(outer());
        entries.extend(site(RETURN, 2, &S34_PLUS_1));
        entries.insert(at, broken());
        value(&object_of(entries, saved), Reading::Tolerant).0
    };
    for saved in [false, true] {
        // The broken entry is between the site and its parameter.
        let found = state(4, saved);
        assert!(matches!(found, ValueState::Error(_)), "{found:?}");
        assert_eq!(state(5, saved), ValueState::Ok);
    }
}

/// Returns the steps of loading a file with `count` entry values, and the steps of a query about it. If the site names a declaration,
/// linkage names of `name` bytes are compared: the declaration and the function have the same name.
fn cost_of_entry_values(count: usize, name: usize, declared: bool) -> (u64, u64) {
    let location = [&[0xa3, 2, 0x90, S4, 0x13].repeat(count)[..], &ON_ENTRY].concat();
    let name = "a".repeat(name);
    let callee = leaf_after(2);
    let called = if declared { callee + 2 } else { callee };
    let declaration = vec![(DW_AT_name, A::name(&name))];
    let entries = [
        vec![outer()],
        site(RETURN, called, &S34_PLUS_1),
        leaf(&name, &location),
        vec![entry(1, DW_TAG_subprogram, declaration)],
    ];
    let file = object_of(entries.concat(), false);
    let object = CodeObject::parse(&file).unwrap();
    let program = Program::load(&object).unwrap();
    let found = ask(&program, &stopped_in_leaf("", ""), Reading::Tolerant);
    assert_eq!(found.text, "42");
    (object.meter().steps(), found.steps)
}

/// An entry value and a drop cost two steps, looking for the call site one, and each parameter of the site one more. The callee of the site
/// is resolved once, with a step for each 32 bytes of the two names, unless both are the same entry.
#[test]
fn call_sites_are_paid_for() {
    let long = 1 << 16;
    for declared in [false, true] {
        let few = cost_of_entry_values(1, 1, declared);
        let many = cost_of_entry_values(101, 1, declared);
        assert_eq!(many.1 - few.1, 100 * 4, "{declared}");
        assert_eq!(many.0, few.0, "{declared}");
        let named = cost_of_entry_values(101, long, declared);
        // A name of one byte costs a step.
        let compared = if declared {
            2 * (long as u64 / 32 - 1)
        } else {
            0
        };
        assert_eq!(named.0 - many.0, compared, "{declared}");
    }
}

/// If a function has too many sites to cache, they are not cached, and not charged as if they were.
#[test]
fn call_sites_that_are_too_many_hold_nothing() {
    let file = object(many_sites(1000), &ON_ENTRY, false);
    let held = |memory: u64| {
        let mut limits = Limits::DEFAULT;
        (limits.memory, limits.memory_per_byte) = (memory, 0);
        let object = CodeObject::parse_with(&file, &limits).unwrap();
        let program = Program::load(&object).unwrap();
        let found = ask(&program, &stopped_in_leaf("", ""), Reading::Tolerant);
        (object.meter().bytes(), found.state == ValueState::Ok)
    };
    let (all, found) = held(Limits::DEFAULT.memory);
    assert!(found);
    // The limit is too low for the last sites.
    let (some, found) = held(all - 1000);
    assert!(!found);
    // A site with its parameter takes about 100 bytes.
    assert!(some + 1000 * 90 < all, "{some} of {all}");
}
