//! Input that was made to do harm.

use super::elf::{Attribute as A, Entry, code_object, debug_info, uleb};
use super::guard::Guard;
use dwarf_tests::probe::{self, Zeros};
use fallible_iterator::FallibleIterator;
use hetdwarf::arch::{Lane, LoadAddress, Register, WaveSize};
use hetdwarf::error::{Error, Result, SpecRule};
use hetdwarf::eval::Frame as _;
use hetdwarf::eval::{
    BaseType, BaseTypeEncoding, Context, DieReference, ExpressionBytes, LaneFocus,
    LocationAttribute, LocationEntry, LocationRange, Outcome, Procedure, Reading, Resolver,
    ResultKind, Subprogram, Unit, evaluate, locate_lanes,
};
use hetdwarf::expr::{Encoding, ParseOptions, parse};
use hetdwarf::frame::{Entry as FrameEntry, FrameIndex, FrameSection, Rows, Unwind, unwind};
use hetdwarf::limits::MOST_DEPTH;
use hetdwarf::location::{Access, Arena, read, read_lanes, write};
use hetdwarf::object::CodeObject;

const UNIT: Unit = Unit {
    id: 0,
    encoding: Encoding::AMDGPU.in_memory(),
};

pub fn encode(text: &str) -> Vec<u8> {
    let options = ParseOptions {
        encoding: UNIT.encoding,
        ..ParseOptions::default()
    };
    parse(text, &options)
        .unwrap_or_else(|error| panic!("{error}"))
        .encode(UNIT.encoding)
        .unwrap()
}

/// Every entry is this expression; every location list has it so many times.
struct Everywhere {
    expression: Vec<u8>,
    times: usize,
}

impl<'a> Resolver<'a> for &'a Everywhere {
    fn procedure(&self, unit: Unit, die: DieReference) -> Result<Procedure<'a>> {
        Ok(Procedure::Location(match die {
            DieReference::InUnit(0) => LocationAttribute::List { unit, offset: 0 },
            DieReference::InUnit(_) | DieReference::InSection(_) => {
                LocationAttribute::Expression(ExpressionBytes::alone(&self.expression, unit))
            }
        }))
    }

    fn base_type(&self, _: Unit, offset: u64) -> Result<BaseType> {
        // Types of any size, up to the largest.
        let bits = u32::try_from(offset.saturating_mul(8)).unwrap_or(u32::MAX);
        if offset == 3 {
            Err(Error::from(SpecRule::NotABaseType))
        } else {
            Ok(BaseType::scalar(BaseTypeEncoding::Unsigned, bits))
        }
    }

    fn address(&self, _: Unit, index: u64) -> Result<u64> {
        Ok(index)
    }

    fn location_list(
        &self,
        unit: Unit,
        _: u64,
        _: u64,
        visit: &mut dyn FnMut(Option<LocationEntry<'a>>) -> Result<()>,
    ) -> Result<()> {
        for _ in 0..self.times {
            let expression = ExpressionBytes::alone(self.expression.as_slice(), unit);
            let range = LocationRange::Bounded(0..u64::MAX);
            visit(Some(LocationEntry::new(range, expression)))?;
        }
        Ok(())
    }
}

/// Evaluates in every way, reads and writes what comes out.
fn evaluate_all(bytes: &[u8], everywhere: &Everywhere) {
    let mut wave = Zeros(WaveSize::Wave64);
    let arena = Arena::new();
    let attribute = LocationAttribute::Expression(ExpressionBytes::alone(bytes, UNIT));
    let tls = |_: u64| Err(Error::from(SpecRule::AddressSpace));
    for lane in [LaneFocus::One(Lane(1)), LaneFocus::All] {
        let context = Context::new(&arena)
            .with_wave(&wave)
            .with_lane(lane)
            .with_pc(0)
            .with_resolver(&everywhere)
            .with_subprogram(Subprogram {
                frame_base: Some(attribute),
                ..Subprogram::default()
            })
            .with_tls(&tls);
        let _ = locate_lanes(&attribute, &context);
        let Ok(Outcome::Location(location)) = evaluate(
            &ExpressionBytes::alone(bytes, UNIT),
            ResultKind::Any,
            &context,
        ) else {
            continue;
        };
        let access = Access {
            wave: &wave,
            lane: Some(Lane(1)),
            max_bits: 1 << 24,
        };
        for bits in [1, 64, 1 << 16, 1 << 24, u64::MAX] {
            let _ = read(&location, bits, &access);
            let _ = read_lanes(&location, bits.min(1 << 20), &wave, 1 << 24);
        }
        let _ = write(&location, &[0; 1 << 12], 1 << 15, Some(Lane(1)), &mut wave);
    }
}

pub fn expressions(scale: usize) {
    let many = |text: &str, count: usize| vec![text; count].join(", ");
    // Location 0 has many places; entry 1 is the expression itself.
    let list = |expression: &str, times| Everywhere {
        expression: encode(expression),
        times,
    };
    let mut guard = Guard::new();
    let mut cases: Vec<(&str, String, Everywhere)> = vec![
        (
            "calls itself",
            "DW_OP_lit0, DW_OP_call4 0x1".into(),
            list("DW_OP_lit0, DW_OP_call4 0x1", 1),
        ),
        (
            "calls itself twice",
            "DW_OP_call4 0x1".into(),
            list("DW_OP_call4 0x1, DW_OP_call4 0x1", 1),
        ),
        (
            "a list that calls itself",
            "DW_OP_call2 0x0".into(),
            list("DW_OP_call2 0x0, DW_OP_call2 0x0", 3),
        ),
        (
            "a frame base that is its own",
            "DW_OP_call4 0x1".into(),
            list("DW_OP_fbreg 0", 1),
        ),
        (
            "an implicit pointer to itself",
            "DW_OP_implicit_pointer 0x5 +0, DW_OP_deref".into(),
            list("DW_OP_implicit_pointer 0x5 +0, DW_OP_deref", 1),
        ),
        (
            "2^60 elements",
            "DW_OP_regx 32, DW_OP_LLVM_extend 32 1152921504606846976".into(),
            list("", 1),
        ),
        (
            "2^60 elements in memory",
            "DW_OP_lit0, DW_OP_LLVM_extend 8 1152921504606846976".into(),
            list("", 1),
        ),
        (
            "2^60 elements of one bit, many times over",
            format!("DW_OP_regx 32, {}", many("DW_OP_LLVM_extend 1 1000000", 8)),
            list("", 1),
        ),
        (
            "a piece of 2^61 bytes",
            "DW_OP_lit0, DW_OP_piece 0x2000000000000000".into(),
            list("", 1),
        ),
        (
            "pieces of nothing, 2^61 bytes each",
            many("DW_OP_piece 0x2000000000000000", 100),
            list("", 1),
        ),
        (
            "ten million bits of nothing",
            "DW_OP_bit_piece 10000000 0, DW_OP_LLVM_piece_end, DW_OP_deref".into(),
            list("", 1),
        ),
        (
            "pieces of no bits",
            many("DW_OP_bit_piece 0 0", 6_000 * scale),
            list("", 1),
        ),
        (
            "a selection of a selection",
            format!(
                "DW_OP_lit0, {}",
                many(
                    "DW_OP_dup, DW_OP_lit5, DW_OP_LLVM_select_bit_piece 8 4",
                    1000
                )
            ),
            list("", 1),
        ),
        (
            "selections of bits, as deep as allowed",
            format!(
                "DW_OP_lit0, {}",
                many(
                    "DW_OP_dup, DW_OP_lit5, DW_OP_LLVM_select_bit_piece 1 64",
                    31
                )
            ),
            list("", 1),
        ),
        (
            "overlays of overlays",
            format!(
                "DW_OP_lit0, {}",
                many(
                    "DW_OP_dup, DW_OP_lit3, DW_OP_lit5, DW_OP_LLVM_overlay",
                    1000
                )
            ),
            list("", 1),
        ),
        (
            "thousands of places",
            "DW_OP_call2 0x0".into(),
            list("DW_OP_reg16", 2_000 * scale),
        ),
        (
            "thousands of undefined places",
            "DW_OP_call2 0x0".into(),
            list("", 10_000 * scale),
        ),
        (
            "many places, moved often",
            format!(
                "DW_OP_call2 0x0, {}",
                many("DW_OP_LLVM_offset_uconst 0x1", 2_000 * scale)
            ),
            list("DW_OP_addr 0x0", 2_000 * scale),
        ),
        (
            "many places, in many pieces",
            format!(
                "DW_OP_call2 0x0, {}",
                many(
                    "DW_OP_dup, DW_OP_piece 0x8, DW_OP_LLVM_piece_end, DW_OP_drop",
                    2_000 * scale
                )
            ),
            list("DW_OP_addr 0x0", 2_000 * scale),
        ),
        (
            "many places, selected often",
            format!(
                "DW_OP_call2 0x0, {}",
                many(
                    "DW_OP_dup, DW_OP_dup, DW_OP_lit5, DW_OP_LLVM_select_bit_piece 1 64, DW_OP_drop",
                    2_000 * scale
                )
            ),
            list("DW_OP_addr 0x0", 2_000 * scale),
        ),
        (
            "composites of two places of composites of two places",
            "DW_OP_call2 0x0".into(),
            list(
                "DW_OP_call2 0x0, DW_OP_bit_piece 1 0, DW_OP_LLVM_piece_end",
                2,
            ),
        ),
        (
            "a stack of the same",
            "DW_OP_lit0, DW_OP_dup, DW_OP_skip -4".into(),
            list("", 1),
        ),
        ("a branch to itself", "DW_OP_skip -3".into(), list("", 1)),
        (
            "a type of 2^35 bits",
            "DW_OP_lit0, DW_OP_deref_type 0x0 0x100000000".into(),
            list("", 1),
        ),
        (
            "a type of 200 bytes",
            "DW_OP_lit0, DW_OP_deref_type 0xc8 0xc8".into(),
            list("", 1),
        ),
        (
            "a convertion to a wide type",
            "DW_OP_lit1, DW_OP_convert 0x200, DW_OP_neg, DW_OP_shl".into(),
            list("", 1),
        ),
    ];
    // A loop that goes through a long expression again and again to find out where operations start.
    let far = format!("{}, DW_OP_skip -30003", many("DW_OP_nop", 30_000));
    cases.push(("a long loop", far, list("", 1)));
    // Branches to two places in turn.
    cases.push((
        "two far branches",
        format!(
            "{}, DW_OP_skip 3, DW_OP_skip 3, DW_OP_skip -6, DW_OP_skip -9",
            many("DW_OP_nop", 2_000 * scale)
        ),
        list("", 1),
    ));
    for (name, text, mut everywhere) in cases {
        let bytes = encode(&text);
        if everywhere.expression.is_empty() && everywhere.times == 1 {
            everywhere.expression.clone_from(&bytes);
        }
        guard.run(name, || evaluate_all(&bytes, &everywhere));
        guard.run(&format!("{name}, by itself"), || probe::expression(&bytes));
    }
    guard.finish("expressions made to do harm");
}

/// An entry value of an entry value of an entry value…
#[test]
fn entry_values_within_entry_values() {
    let mut guard = Guard::new();
    let mut bytes = vec![0x60];
    for depth in 0..3000 {
        bytes = [&[0xa3][..], &uleb(bytes.len() as u64), &bytes].concat();
        if depth % 300 == 0 {
            guard.run(&format!("{depth} entry values"), || {
                probe::expression(&bytes)
            });
        }
    }
    let text = format!("{}{}", "DW_OP_entry_value(".repeat(50_000), "DW_OP_lit0");
    guard.run("text that opens 50,000 times", || probe::text(&text));
    let text = format!("{text}{}", ")".repeat(50_000));
    guard.run("text that is 50,000 deep", || probe::text(&text));
    guard.finish("entry values");
}

/// `.debug_frame` with one CIE and one FDE for 0x1000 to 0x2000.
pub fn debug_frame(initial: &[u8], instructions: &[u8]) -> Vec<u8> {
    let mut section = Vec::new();
    let mut entry = |body: Vec<u8>| {
        section.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
        section.extend(body);
    };
    let mut cie = vec![0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0, 1, 0x7c, 16];
    cie.extend(initial);
    entry(cie);
    let mut fde = vec![0; 4];
    fde.extend(0x1000u64.to_le_bytes());
    fde.extend(0x1000u64.to_le_bytes());
    fde.extend(instructions);
    entry(fde);
    section
}

pub fn call_frame_information(scale: usize) {
    let mut guard = Guard::new();
    let rules: Vec<u8> = (0..8000u64)
        .flat_map(|register| [&[0x05][..], &uleb(register), &[1]].concat())
        .collect();
    let repeat = |bytes: &[u8], count: usize| bytes.repeat(count);
    let cases: Vec<(&str, Vec<u8>, Vec<u8>)> = vec![
        ("many nops", vec![], repeat(&[0], 100_000 * scale)),
        (
            "many advances by nothing",
            vec![],
            repeat(&[0x40], 100_000 * scale),
        ),
        (
            "many rules",
            vec![],
            repeat(&[0x05, 33, 1], 100_000 * scale),
        ),
        (
            "many remember_state",
            vec![],
            repeat(&[0x0a], 100_000 * scale),
        ),
        (
            "many restore_state",
            vec![],
            repeat(&[0x0b], 100_000 * scale),
        ),
        (
            "remember and restore",
            vec![],
            repeat(&[0x0a, 0x0b], 50_000 * scale),
        ),
        (
            "remember and restore with 8000 rules",
            rules.clone(),
            repeat(&[0x0a, 0x0b], 50_000 * scale),
        ),
        (
            "a rule that comes and goes among 8000",
            rules.clone(),
            repeat(&[0x08, 0, 0x05, 0, 1], 30_000 * scale),
        ),
        (
            "many restores",
            rules.clone(),
            repeat(&[0x06, 33], 50_000 * scale),
        ),
        (
            "registers without end",
            vec![],
            (0..20_000 * scale as u64)
                .flat_map(|r| [&[0x05][..], &uleb(r), &[1]].concat())
                .collect(),
        ),
        (
            "a CFA that is an expression without end",
            vec![0x0f, 3, 0x2f, 0xfd, 0xff],
            vec![],
        ),
        // Every register is where the next one says.
        (
            "registers in each other",
            vec![0x0c, 33, 0],
            (0..4000u64)
                .flat_map(|r| [&[0x09][..], &uleb(r), &uleb((r + 1) % 4000)].concat())
                .collect(),
        ),
        (
            "registers by expressions on the next",
            vec![0x0c, 33, 0],
            (32..100u64)
                .flat_map(|r| {
                    [&[0x10][..], &uleb(r), &[4, 0x92], &uleb(r + 1), &[0, 0x06]].concat()
                })
                .collect(),
        ),
        // The CFA is 16 more in each frame, so that no two are the same.
        (
            "a long function that calls itself",
            vec![0x0c, 17, 0],
            [
                &[0x16, 17, 3, 0x23, 16, 0x96, 0x16, 16, 3, 0x0a, 0x00, 0x14][..],
                &repeat(&[0], 30_000 * scale),
            ]
            .concat(),
        ),
        // Each evaluation asks for the caller's registers, which are wherever evaluations say.
        (
            "registers by entry values in each other",
            vec![
                0x16, 17, 3, 0x23, 16, 0x96, 0x0c, 17, 0, 0x16, 16, 3, 0x0a, 0x00, 0x14,
            ],
            (34..107u64)
                .flat_map(|register| {
                    let next = [&[0x90][..], &uleb(register + 1)].concat();
                    let expression = (0..60).fold(next, |inner, _| {
                        [&[0xa3][..], &uleb(inner.len() as u64), &inner].concat()
                    });
                    let length = uleb(expression.len() as u64);
                    [&[0x16][..], &uleb(register), &length, &expression].concat()
                })
                .collect(),
        ),
        ("returns to itself", vec![0x0c, 33, 0, 0x08, 16], vec![]),
        (
            "returns to itself, by an expression",
            vec![0x0f, 1, 0x30],
            vec![0x16, 16, 3, 0x0a, 0x00, 0x14],
        ),
    ];
    for (name, initial, instructions) in cases {
        let bytes = debug_frame(&initial, &instructions);
        let section = FrameSection::debug_frame(&bytes);
        guard.run(&format!("{name}: rows"), || {
            let mut entries = section.entries();
            while let Ok(Some(entry)) = entries.next() {
                if let FrameEntry::Fde(fde) = entry
                    && let Ok(mut rows) = Rows::new(&fde, ".debug_frame")
                {
                    while let Ok(Some(_)) = rows.next() {}
                }
            }
        });
        guard.run(&format!("{name}: unwinding"), || {
            let wave = Zeros(WaveSize::Wave64);
            let index = FrameIndex::new(section);
            let arena = Arena::new();
            let mut start = Unwind::new(&wave, &index, LoadAddress(0), &arena);
            start.lane = LaneFocus::All;
            start.reading = Reading::Tolerant;
            start.limits.depth = MOST_DEPTH;
            let stack = unwind(start, 0x1400);
            let calls_itself = name.contains("calls itself") || name.contains("entry values");
            assert!(stack.frames().len() == 1024 || !calls_itself);
            assert!(stack.frames().len() <= 1024);
            // What their rules say is found, or is an error.
            for frame in stack.frames().take(3) {
                for number in (32..107).filter_map(Register::from_number) {
                    let _ = frame.register(number);
                }
            }
        });
        let object = code_object(&[(".text", &[0; 64]), (".debug_frame", &bytes)]);
        guard.run(&format!("{name}: in a file"), || probe::file(&object));
    }
    guard.finish("call frame information made to do harm");
}

pub fn entry(depth: usize, tag: u64, attributes: Vec<(u64, A)>) -> Entry {
    Entry {
        tag,
        attributes,
        depth,
    }
}

pub const COMPILE_UNIT: u64 = 0x11;
pub const SUBPROGRAM: u64 = 0x2e;
pub const VARIABLE: u64 = 0x34;
const BASE_TYPE: u64 = 0x24;
pub const STRUCTURE: u64 = 0x13;
pub const MEMBER: u64 = 0x0d;
const ARRAY: u64 = 0x01;
const SUBRANGE: u64 = 0x21;
pub const TYPEDEF: u64 = 0x16;
pub const POINTER: u64 = 0x0f;
pub const INLINED: u64 = 0x1d;
const BLOCK: u64 = 0x0b;
pub const NAME: u64 = 0x03;
pub const TYPE: u64 = 0x49;
pub const LOCATION: u64 = 0x02;
pub const BYTE_SIZE: u64 = 0x0b;
pub const UPPER_BOUND: u64 = 0x2f;
pub const MEMBER_LOCATION: u64 = 0x38;
const ENCODING: u64 = 0x3e;
pub const LOW_PC: u64 = 0x11;
pub const HIGH_PC: u64 = 0x12;
const ORIGIN: u64 = 0x31;
const SPECIFICATION: u64 = 0x47;
const FRAME_BASE: u64 = 0x40;

pub fn code(tag: u64, depth: usize, mut attributes: Vec<(u64, A)>) -> Entry {
    attributes.extend([(LOW_PC, A::address(0x1000)), (HIGH_PC, A::number(0x1000))]);
    entry(depth, tag, attributes)
}

/// A unit with one function, one variable `v` of type `ty` in it, and these types at its end. The
/// types' numbers start with 3.
fn unit(ty: usize, types: Vec<Entry>) -> Vec<Entry> {
    let location = A::expression(&[0x03, 0, 0x10, 0, 0, 0, 0, 0, 0]);
    let mut entries = vec![
        code(COMPILE_UNIT, 0, vec![]),
        code(SUBPROGRAM, 1, vec![(NAME, A::name("f"))]),
        entry(
            2,
            VARIABLE,
            vec![
                (NAME, A::name("v")),
                (TYPE, A::Entry(ty)),
                (LOCATION, location),
            ],
        ),
    ];
    entries.extend(types);
    entries
}

pub fn int(depth: usize) -> Entry {
    entry(
        depth,
        BASE_TYPE,
        vec![
            (NAME, A::name("int")),
            (BYTE_SIZE, A::number(4)),
            (ENCODING, A::number(5)),
        ],
    )
}

pub fn named(tag: u64, depth: usize, name: &str, ty: usize) -> Entry {
    entry(
        depth,
        tag,
        vec![(NAME, A::name(name)), (TYPE, A::Entry(ty))],
    )
}

/// Arrays of arrays, each of so many elements.
fn arrays(depth: usize, most: u64) -> Vec<Entry> {
    let mut entries = vec![int(1)];
    for level in 0..depth {
        let element = if level == 0 { 3 } else { 2 + level * 2 };
        entries.push(entry(1, ARRAY, vec![(TYPE, A::Entry(element))]));
        entries.push(entry(2, SUBRANGE, vec![(UPPER_BOUND, A::number(most))]));
    }
    entries
}

/// Files whose entries and types are made to do harm.
pub fn type_files(scale: usize) -> Vec<(&'static str, Vec<u8>)> {
    let structure = |depth: usize, members: &[usize]| {
        let mut entries = vec![entry(
            depth,
            STRUCTURE,
            vec![(NAME, A::name("s")), (BYTE_SIZE, A::number(64))],
        )];
        for (number, ty) in members.iter().enumerate() {
            let place = (MEMBER_LOCATION, A::number(number as u64 * 4));
            entries.push(entry(
                depth + 1,
                MEMBER,
                vec![(NAME, A::name("m")), (TYPE, A::Entry(*ty)), place],
            ));
        }
        entries
    };
    // Each structure has two of the next one.
    let doubling: Vec<Entry> = (0..60)
        .flat_map(|level| structure(1, &[3 + (level + 1) * 3, 3 + (level + 1) * 3]))
        .chain([int(1)])
        .collect();
    // Each typedef is of the next one.
    let long: Vec<Entry> = (0..2_000 * scale)
        .map(|level| named(TYPEDEF, 1, "t", 4 + level))
        .chain([int(1)])
        .collect();
    let nested_blocks: Vec<Entry> = unit(0, vec![])
        .into_iter()
        .take(2)
        .chain((0..500 * scale).map(|depth| code(BLOCK, 2 + depth, vec![])))
        .collect();
    let nested_inlines: Vec<Entry> = unit(0, vec![])
        .into_iter()
        .take(2)
        .chain((0..100 * scale).map(|depth| code(INLINED, 2 + depth, vec![(ORIGIN, A::Entry(1))])))
        .collect();
    let long_name = "n".repeat(100_000);
    let variables: Vec<Entry> = unit(3, vec![])
        .into_iter()
        .chain((0..2_000 * scale).map(|_| named(VARIABLE, 2, &long_name[..20], 2)))
        .collect();
    let huge_variables: Vec<Entry> = {
        let mut entries = unit(3, arrays(1, 1 << 40));
        let variable = entries[2].clone();
        // At the place of the first one, so that the types keep their numbers, are 300 of them.
        entries.extend([code(SUBPROGRAM, 1, vec![(NAME, A::name("g"))])]);
        entries.extend(vec![
            Entry {
                attributes: vec![
                    (NAME, A::name("w")),
                    (TYPE, A::Entry(4)),
                    variable.attributes[2].clone()
                ],
                ..variable
            };
            10 * scale
        ]);
        entries
    };
    let cases: Vec<(&str, Vec<Entry>)> = vec![
        (
            "a typedef of itself",
            unit(3, vec![named(TYPEDEF, 1, "t", 3)]),
        ),
        (
            "two typedefs of each other",
            unit(
                3,
                vec![named(TYPEDEF, 1, "t", 4), named(TYPEDEF, 1, "u", 3)],
            ),
        ),
        (
            "a pointer to itself",
            unit(3, vec![named(POINTER, 1, "p", 3)]),
        ),
        ("a variable as its own type", unit(2, vec![])),
        ("a structure with itself", unit(3, structure(1, &[3, 3]))),
        (
            "an array of itself",
            unit(
                3,
                vec![
                    named(ARRAY, 1, "a", 3),
                    entry(2, SUBRANGE, vec![(UPPER_BOUND, A::number(9))]),
                ],
            ),
        ),
        ("an array of 2^40 ints", unit(4, arrays(1, (1 << 40) - 1))),
        ("an array of 2^64 ints", unit(4, arrays(1, u64::MAX))),
        ("ten dimensions of 2^40", unit(22, arrays(10, 1 << 40))),
        ("two hundred dimensions of 2", unit(402, arrays(200, 1))),
        ("structures of two structures, 60 deep", unit(3, doubling)),
        ("thousands of typedefs", unit(3, long)),
        (
            "an array as long as itself",
            unit(
                3,
                vec![
                    named(ARRAY, 1, "a", 5),
                    entry(2, SUBRANGE, vec![(UPPER_BOUND, A::Entry(2))]),
                    int(1),
                ],
            ),
        ),
        ("thousands of blocks", nested_blocks),
        ("thousands of inlined calls", nested_inlines),
        ("thousands of variables", variables),
        ("many variables of 2^40 ints", huge_variables),
        ("a function that completes itself", {
            let mut entries = unit(3, vec![int(1)]);
            entries[1]
                .attributes
                .extend([(ORIGIN, A::Entry(1)), (SPECIFICATION, A::Entry(1))]);
            entries
        }),
        ("a variable that completes another one that completes it", {
            let mut entries = unit(
                4,
                vec![entry(2, VARIABLE, vec![(ORIGIN, A::Entry(2))]), int(1)],
            );
            entries[2].attributes.push((ORIGIN, A::Entry(3)));
            entries
        }),
        ("a variable that calls itself", {
            let mut entries = unit(3, vec![int(1)]);
            // The variable's offset is not known here: every entry near it is tried.
            let calls: Vec<u8> = (12..60u8).flat_map(|offset| [0x98, offset, 0]).collect();
            entries[2].attributes[2].1 = A::expression(&calls);
            entries
        }),
    ];
    let file = |(name, entries): (_, Vec<Entry>)| {
        let (abbreviations, info) = debug_info(&entries);
        let sections = [
            (".text", &[0; 64][..]),
            (".debug_abbrev", &abbreviations),
            (".debug_info", &info),
        ];
        (name, code_object(&sections))
    };
    cases.into_iter().map(file).collect()
}

pub fn entries_and_types(scale: usize) {
    let mut guard = Guard::new();
    for (name, file) in type_files(scale) {
        guard.run(name, || {
            let object = CodeObject::parse(&file).unwrap();
            let program = hetdwarf::inspect::Program::load(&object).unwrap();
            let function = program.info().find_function(0x1010);
            // The file is what it is meant to be, if it can be read at all.
            assert!(function.is_err() || function.unwrap().is_some(), "{name}");
            probe::stop(&program, 0x1010);
            probe::code_object(&object);
        });
        command(name, &file, &mut guard);
    }
    guard.finish("entries and types made to do harm");
}

/// Files with many variables and calls, each of which is within its own limits; whether there are variables at 0x1010.
pub fn stop_files(scale: usize) -> Vec<(&'static str, Vec<u8>, bool)> {
    // An expression that never ends, with and without asking for the lane first.
    let (endless, endless_by_lane) = ([0x2f, 0xfd, 0xff], [0xe9, 0x03, 0x2f, 0xfd, 0xff]);
    let function = |attributes| code(SUBPROGRAM, 1, attributes);
    let variable = |location| {
        let attributes = vec![
            (NAME, A::name("v")),
            (TYPE, A::Entry(1)),
            (LOCATION, location),
        ];
        entry(2, VARIABLE, attributes)
    };
    let stop = |function: Entry, variables: Vec<Entry>| {
        let mut entries = vec![code(COMPILE_UNIT, 0, vec![]), int(1), function];
        entries.extend(variables);
        entries
    };
    let frame_bases = |base: &[u8]| {
        let function = function(vec![(FRAME_BASE, A::expression(base))]);
        let fbreg = A::expression(&[0x91, 0]);
        stop(function, vec![variable(fbreg); 50 * scale])
    };
    let locations = |location: &[u8]| {
        stop(
            function(vec![]),
            vec![variable(A::expression(location)); 50 * scale],
        )
    };
    // Variable N is entry 3 + N, and is where the next one is.
    let count = 3_000 * scale;
    let calls = (0..count).map(|n| variable(A::Call((3 + n + 1).min(2 + count))));
    let nested = |tag, origin: Option<usize>, count: usize| {
        let origin = origin.map(|origin| (ORIGIN, A::Entry(origin)));
        let one = |depth| code(tag, 2 + depth, origin.clone().into_iter().collect());
        stop(
            function(vec![(NAME, A::name("f"))]),
            (0..count).map(one).collect(),
        )
    };
    let origins = (0..200 * scale).map(|n| code(INLINED, 2 + n, vec![(ORIGIN, A::Entry(2 + n))]));
    let arrays = {
        let mut entries = vec![code(COMPILE_UNIT, 0, vec![]), int(1)];
        entries.push(entry(1, ARRAY, vec![(TYPE, A::Entry(1))]));
        entries.push(entry(2, SUBRANGE, vec![(UPPER_BOUND, A::number(1 << 40))]));
        entries.push(function(vec![]));
        // Private memory at address 0: each lane's own.
        let location = A::expression(&[0x30, 0x35, 0xe9, 0x02]);
        let attributes = vec![
            (NAME, A::name("v")),
            (TYPE, A::Entry(2)),
            (LOCATION, location),
        ];
        entries.extend(vec![entry(2, VARIABLE, attributes); 20 * scale]);
        entries
    };
    let cases = [
        ("frame bases without end", frame_bases(&endless), true),
        (
            "frame bases without end in each lane",
            frame_bases(&endless_by_lane),
            true,
        ),
        ("locations without end", locations(&endless), true),
        (
            "locations without end in each lane",
            locations(&endless_by_lane),
            true,
        ),
        (
            "variables that call the next",
            stop(function(vec![]), calls.collect()),
            true,
        ),
        (
            "inlined calls of nothing",
            nested(INLINED, None, 6_000 * scale),
            false,
        ),
        (
            "inlined calls of the function",
            nested(INLINED, Some(2), 200 * scale),
            false,
        ),
        (
            "inlined calls of each other",
            stop(function(vec![]), origins.collect()),
            false,
        ),
        ("blocks", nested(BLOCK, None, 6_000 * scale), false),
        ("large arrays in every lane", arrays, true),
    ];
    // As many frames as are unwound, all in the same function.
    let rules = [0x16, 33, 3, 0x23, 16, 0x96, 0x08, 16];
    let frames = debug_frame(&[0x0c, 33, 0], &rules);
    let file = |(name, entries, has_variables): (_, Vec<Entry>, _)| {
        let (abbreviations, info) = debug_info(&entries);
        let sections = [
            (".text", &[0; 64][..]),
            (".debug_abbrev", &abbreviations),
            (".debug_info", &info),
            (".debug_frame", &frames),
        ];
        (name, code_object(&sections), has_variables)
    };
    cases.into_iter().map(file).collect()
}

pub fn whole_stops(scale: usize) {
    let mut guard = Guard::new();
    for (name, file, has_variables) in stop_files(scale) {
        guard.run(name, || {
            let object = CodeObject::parse(&file).unwrap();
            let program = hetdwarf::inspect::Program::load(&object).unwrap();
            let found = probe::stop(&program, 0x1010);
            assert_eq!(found > 0, has_variables, "{name}: {found} variables");
        });
        command(name, &file, &mut guard);
    }
    guard.finish("whole stops made to do harm");
}

/// A wave that has stopped at 0x1010, where the files made here have a function.
pub fn stopped_wave() -> String {
    let memory = "00".repeat(4096);
    format!(
        r#"{{"format": "hetdwarf-wave/1", "target": "gfx90a", "wave_size": 64, "pc": "0x1010", "registers": {{"exec": "0x3"}},
            "memory": [{{"space": "none", "address": "0x1000", "bytes": "{memory}"}}]}}"#
    )
}

/// Runs `hetdwarf vars` and `unwind` on a file.
fn command(name: &str, file: &[u8], guard: &mut Guard) {
    let folder = std::env::temp_dir().join(format!(
        "hetdwarf-hostile-{}-{}",
        std::process::id(),
        name.replace([' ', '^'], "-")
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let (object, wave) = (folder.join("object.hsaco"), folder.join("wave.json"));
    std::fs::write(&object, file).unwrap();
    std::fs::write(&wave, stopped_wave()).unwrap();
    for subcommand in ["vars", "unwind"] {
        for format in ["text", "json"] {
            let arguments = [
                subcommand.as_ref(),
                object.as_os_str(),
                "--wave".as_ref(),
                wave.as_os_str(),
                "--format".as_ref(),
                format.as_ref(),
            ];
            let what = format!("{name}: {subcommand} --format {format}");
            guard.run(&what, || {
                let ran = dwarf_tests::hetdwarf(arguments);
                let length = ran.out.len();
                assert!(length < 1 << 28, "{what}: {length} bytes");
                assert!(ran.status <= 2);
            });
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn results(reads: &[&str]) {
    let mut guard = Guard::new();
    for text in [
        "DW_OP_lit0, DW_OP_LLVM_extend 8 1152921504606846976",
        "DW_OP_lit0, DW_OP_LLVM_extend 8 8, DW_OP_LLVM_extend 8 1000000, DW_OP_LLVM_extend 8 1000000000",
        "DW_OP_piece 0x1fffffffffffff",
    ] {
        for format in ["text", "json"] {
            for &read in reads {
                let what = format!("eval {text} --read {read} --format {format}");
                guard.run(&what, || {
                    let ran = dwarf_tests::hetdwarf([
                        "eval", "--expr", text, "--lane", "all", "--read", read, "--format", format,
                    ]);
                    assert!(ran.out.len() < 1 << 25, "{what}: {} bytes", ran.out.len());
                    if read.len() > 2 {
                        let limit = "the limit `memory` of 268435456 was reached";
                        assert_eq!(ran.out.matches(limit).count(), 64, "{what}");
                    }
                });
            }
        }
    }
    guard.finish("results made to do harm");
}

#[test]
fn results_made_to_do_harm_print_within_bounds() {
    results(&["64"]);
}

#[test]
fn results_made_to_do_harm_are_read_within_bounds() {
    results(&["16777216", "18446744073709551615"]);
}

#[test]
fn expressions_made_to_do_harm() {
    expressions(1);
}

#[test]
fn call_frame_information_made_to_do_harm() {
    call_frame_information(1);
}

#[test]
fn entries_and_types_made_to_do_harm() {
    entries_and_types(1);
}

#[test]
fn whole_stops_made_to_do_harm() {
    whole_stops(1);
}

#[test]
#[ignore = "takes minutes"]
fn everything_made_to_do_harm_at_its_largest() {
    expressions(10);
    call_frame_information(10);
    entries_and_types(10);
    whole_stops(10);
}
