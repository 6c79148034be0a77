//! Tests that evaluating an expression allocates nothing, except for composites in the arena.
//!
//! The expressions are the vectors in `vectors/` that can be evaluated, and a few that need entries or a frame.

use allocation_counter::measure;
use dwarf_tests::{number, package};
use hetdwarf::arch::{AddressSpace, Lane, Register, WaveSize};
use hetdwarf::error::{Error, Result};
use hetdwarf::eval::{
    BaseType, BaseTypeEncoding, Context, DieReference, ExpressionBytes, Frame, LaneFocus,
    LocationAttribute, LocationEntry, Outcome, Procedure, Reading, Resolver, ResultKind,
    Subprogram, Unit, evaluate,
};
use hetdwarf::expr::{Opcode, ParseOptions, operations, parse};
use hetdwarf::location::{Arena, LaneSelect, Location, Place, Storage};
use hetdwarf::wave::Snapshot;
use serde_json::Value;
/// Operations that allocate in the arena.
const IN_ARENA: [Opcode; 8] = [
    Opcode::Piece,
    Opcode::BitPiece,
    Opcode::Extend,
    Opcode::SelectBitPiece,
    Opcode::Overlay,
    Opcode::BitOverlay,
    Opcode::ImplicitPointer,
    Opcode::AspaceImplicitPointer,
];

struct Case {
    name: String,
    bytes: Vec<u8>,
    encoding: hetdwarf::expr::Encoding,
    wave: Snapshot,
    lane: LaneFocus,
    kind: ResultKind,
    reading: Reading,
}

impl Case {
    /// Reads a vector. Returns `None` if it needs more than an expression and a wave.
    fn new(vector: &Value) -> Option<Case> {
        if vector.get("initial_stack").is_some() || vector.get("object_location").is_some() {
            return None;
        }
        let mut encoding = hetdwarf::expr::Encoding::AMDGPU.in_memory();
        if let Some(size) = vector.get("address_size") {
            encoding.address_size = u8::try_from(number(size)).unwrap();
        }
        let path = package().join("vectors").join(vector["wave"].as_str()?);
        let wave = Snapshot::from_json(&std::fs::read(path).unwrap()).unwrap();
        let text = vector["expr"].as_str()?;
        let lane = match &vector["lane"] {
            Value::String(all) if all == "all" => LaneFocus::All,
            Value::Null => LaneFocus::None,
            lane => LaneFocus::One(Lane(u8::try_from(number(lane)).unwrap())),
        };
        Some(Case {
            name: format!("{}: {text}", vector["id"]),
            bytes: bytes(text, encoding)?,
            encoding,
            wave,
            lane,
            kind: match vector["result"].as_str()? {
                "location" => ResultKind::Location,
                "value" => ResultKind::Value,
                _ => ResultKind::Any,
            },
            reading: match vector.get("tolerant") {
                Some(Value::Bool(true)) => Reading::Tolerant,
                _ => Reading::Strict,
            },
        })
    }

    fn in_arena(&self) -> bool {
        use fallible_iterator::FallibleIterator;
        let mut items = operations(&self.bytes, self.encoding);
        let kept = items.any(|item| Ok(IN_ARENA.contains(&item.operation.opcode())));
        kept.unwrap_or(false)
    }

    fn evaluate<'a>(&'a self, arena: &'a Arena<'a>) -> Result<Outcome<'a>> {
        let context = Context::new(arena)
            .with_wave(&self.wave)
            .with_lane(self.lane)
            .with_reading(self.reading);
        let expression = ExpressionBytes::alone(&self.bytes, Unit::unknown(self.encoding));
        evaluate(&expression, self.kind, &context)
    }
}

fn bytes(text: &str, encoding: hetdwarf::expr::Encoding) -> Option<Vec<u8>> {
    let expression = parse(text, &ParseOptions::default()).ok()?;
    expression.encode(encoding).ok()
}

/// Returns the vectors that evaluate without an error, because an error is allocated.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for file in ["spec-examples.jsonl", "from-the-text.jsonl"] {
        let text = std::fs::read_to_string(package().join("vectors").join(file)).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let vectors = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        cases.extend(vectors.filter_map(|vector| Case::new(&vector)));
    }
    cases.retain(|case| case.evaluate(&Arena::new()).is_ok());
    cases
}

#[test]
fn an_expression_without_composites_allocates_nothing() {
    let (mut count, mut failures) = (0, Vec::new());
    for case in cases().iter().filter(|case| !case.in_arena()) {
        let arena = Arena::new();
        let found = measure(|| {
            let _ = std::hint::black_box(case.evaluate(&arena));
        });
        count += 1;
        if found.count_total != 0 {
            failures.push(format!("{}: {} allocations", case.name, found.count_total));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(count > 250, "only {count} expressions");
}

/// The arena grows by chunks of increasing size, so a hundred evaluations need only a few chunks, and no other memory.
#[test]
fn a_composite_allocates_in_the_arena_alone() {
    let (mut count, mut failures) = (0, Vec::new());
    for case in cases().iter().filter(|case| case.in_arena()) {
        let arena = Arena::new();
        let found = measure(|| {
            for _ in 0..100 {
                let _ = std::hint::black_box(case.evaluate(&arena));
            }
        });
        count += 1;
        // There are at most four pools, whose chunks double in size, and lists of the chunks.
        if found.count_total > 40 {
            failures.push(format!("{}: {} allocations", case.name, found.count_total));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(count > 100, "only {count} expressions");
}

const ENCODING: hetdwarf::expr::Encoding = hetdwarf::expr::Encoding::AMDGPU;
const UNIT: Unit = Unit::unknown(ENCODING);

/// Entries, each of which calls the next one.
struct Entries(Vec<Vec<u8>>);

impl<'a> Resolver<'a> for &'a Entries {
    fn procedure(&self, _: Unit, die: DieReference) -> Result<Procedure<'a>> {
        let DieReference::InUnit(number) = die else {
            return Ok(Procedure::Nothing);
        };
        let entries: &'a Entries = self;
        let expression = ExpressionBytes::alone(&entries.0[usize::try_from(number).unwrap()], UNIT);
        Ok(Procedure::Location(LocationAttribute::Expression(
            expression,
        )))
    }

    fn base_type(&self, _: Unit, _: u64) -> Result<BaseType> {
        Ok(BaseType::scalar(BaseTypeEncoding::Signed, 32))
    }

    fn address(&self, _: Unit, index: u64) -> Result<u64> {
        Ok(0x7f00_0000_1000 + index)
    }

    fn location_list(
        &self,
        _: Unit,
        _: u64,
        _: u64,
        _: &mut dyn FnMut(Option<LocationEntry<'a>>) -> Result<()>,
    ) -> Result<()> {
        Err(Error::malformed("list", "there are none"))
    }
}

/// A frame whose registers are in the wave.
struct Innermost;

impl<'a> Frame<'a> for Innermost {
    fn register(&self, register: Register) -> Result<Location<'a>> {
        Ok(Location::register(register))
    }

    fn entry_register(&self, register: Register) -> Result<Location<'a>> {
        self.register(register)
    }

    fn cfa(&self) -> Result<Location<'a>> {
        let storage = Storage::Memory {
            space: AddressSpace::PrivateWave,
            lane: LaneSelect::None,
        };
        Ok(Location::One(Place::new(storage, 0)))
    }

    fn with_caller(
        &self,
        visit: &mut dyn FnMut(&dyn Frame<'a>, u64) -> Result<()>,
    ) -> Result<bool> {
        visit(self, 0)?;
        Ok(true)
    }
}

#[test]
fn calls_frames_and_types_allocate_nothing() {
    let path = package().join("vectors/waves/spec-wave64.json");
    let wave = Snapshot::from_json(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(hetdwarf::wave::Wave::wave_size(&wave), WaveSize::Wave64);
    let code = |text: &str| bytes(text, ENCODING).unwrap();
    let entries = Entries(vec![
        code("DW_OP_lit1, DW_OP_call4 0x1, DW_OP_plus"),
        code("DW_OP_lit2, DW_OP_call4 0x2, DW_OP_plus"),
        code("DW_OP_lit3"),
    ]);
    let literals = "DW_OP_lit1, ".repeat(8) + "DW_OP_lit2";
    for (text, value) in [
        ("DW_OP_call4 0x0", Some(6)),
        ("DW_OP_fbreg +0x8", None),
        ("DW_OP_call_frame_cfa", None),
        (
            "DW_OP_addrx 0x4, DW_OP_plus_uconst 0x4",
            Some(0x7f00_0000_1008),
        ),
        (
            "DW_OP_regval_type SGPR4 0x20, DW_OP_convert 0x0",
            Some(0x1000),
        ),
        ("DW_OP_entry_value(DW_OP_regx SGPR4)", Some(0x1000)),
        (&literals, Some(2)),
    ] {
        let expression = code(text);
        // The frame base is an address, or an address that has to be computed.
        for frame_base in [
            "DW_OP_addr 0x1000",
            "DW_OP_addr 0x1000, DW_OP_plus_uconst 0x8",
        ] {
            let frame_base = code(frame_base);
            let frame_base = ExpressionBytes::alone(&frame_base, UNIT);
            let arena = Arena::new();
            let resolver = &&entries;
            let context = Context::new(&arena)
                .with_wave(&wave)
                .with_lane(LaneFocus::One(Lane(3)))
                .with_frame(&Innermost)
                .with_resolver(resolver)
                .with_subprogram(Subprogram {
                    frame_base: Some(LocationAttribute::Expression(frame_base)),
                    ..Subprogram::default()
                });
            let expression = ExpressionBytes::alone(&expression, UNIT);
            let kind = value.map_or(ResultKind::Location, |_| ResultKind::Value);
            let mut outcome = None;
            let found = measure(|| outcome = Some(evaluate(&expression, kind, &context)));
            match (outcome.unwrap().unwrap(), value) {
                (Outcome::Value(found), Some(value)) => assert_eq!(found.bits, value, "{text}"),
                (Outcome::Location(_), None) => {}
                (other, _) => panic!("{text}: {other:?}"),
            }
            // An expression with more stack entries than the inline capacity allocates once.
            let most = u64::from(text == literals);
            assert!(found.count_total <= most, "{text}: {found:?}");
        }
    }
}

/// The calls are nested beyond the inline capacity, with operations after each. Both stacks start with a few entries, and double their
/// capacity until they hold 20.
#[test]
fn deep_calls_allocate_as_often_as_their_stacks_double() {
    const CALLS: usize = 20;
    let mut entries: Vec<_> = (1..CALLS)
        .map(|n| format!("DW_OP_const1u {n}, DW_OP_call4 {n:#x}, DW_OP_plus"))
        .collect();
    entries.push(format!("DW_OP_const1u {CALLS}"));
    let entries = entries.iter().map(|text| bytes(text, ENCODING).unwrap());
    let entries = Entries(entries.collect());
    let expression = bytes("DW_OP_call4 0x0", ENCODING).unwrap();
    let arena = Arena::new();
    let resolver = &&entries;
    let context = Context::new(&arena).with_resolver(resolver);
    let expression = ExpressionBytes::alone(&expression, UNIT);
    let found = measure(|| {
        for _ in 0..100 {
            let outcome = evaluate(&expression, ResultKind::Value, &context).unwrap();
            let Outcome::Value(value) = outcome else {
                panic!("{outcome:?}");
            };
            // 1 + 2 + … + 20.
            assert_eq!(value.bits, 210);
        }
    });
    // The stack of entries grows to 4, 8, 16 and 32, the stack of callers to 8, 16 and 32.
    assert!(found.count_total <= 700, "{found:?}");
}
