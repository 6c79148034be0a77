//! Compares this crate and gimli in decoding and evaluating DWARF 5 expressions.
//!
//! Both read the same bytes and find the same results. The inputs cost almost nothing. Registers and memory always hold the same number.
//! The frame knows its CFA and all of its registers, and the entry has an expression. Nothing is kept from one run to the next:
//!
//! - This crate makes an `Arena`, fills in a `Context` and calls `evaluate`. "At a stop" repeats the evaluation with the same arena and context,
//!   as a debugger does for the variables of a frame.
//! - gimli makes an `Evaluation` and answers its requests with the loop of its documentation. "gimli" keeps its stacks on the heap, as
//!   `Evaluation::new` does. "gimli, arrays" keeps them in arrays of a fixed size (`EvaluationStorage`).
//!
//! The results are compared when a case is made.

use std::hint::black_box;
use std::ops::Range;

use super::{Case, Maker, keep, maker};
use fallible_iterator::FallibleIterator;
use gimli::{
    EndianSlice, Evaluation, EvaluationResult, EvaluationStorage, LittleEndian, Piece, StoreOnHeap,
    Value,
};
use hetdwarf::arch::{AddressSpace, Register, WaveSize};
use hetdwarf::eval::{
    BaseType, Context, DieReference, ExpressionBytes, Frame, LocationAttribute, LocationEntry,
    Outcome, Procedure, Resolver, ResultKind, Subprogram, Unit, evaluate,
};
use hetdwarf::expr::{Encoding, ParseOptions, operations, parse};
use hetdwarf::location::{Arena, LaneSelect, Location, Place, Storage};
use hetdwarf::wave::{AccessError, Memory, Wave};

/// The contents of every register and of all memory.
const CONTENTS: u64 = 0x0000_7f12_3456_7890;
/// The frame base of over half of the functions in the corpus.
const FRAME_BASE: &str = "DW_OP_call_frame_cfa";
/// The CFA of the frame.
pub(super) const CFA: u64 = 0x7f00_0000_1000;
/// The subject in which gimli gets the frame base, whereas this crate evaluates the frame base's expression.
const GIVEN: &str = "fbreg, gimli is given the frame base";
/// The number of expressions that are evaluated with the same arena and context, which is about the number of variables in a frame.
pub(super) const AT_A_STOP: u32 = 16;
/// The offset of the entry that `DW_OP_call4` names.
const ENTRY: u32 = 0x30;

/// The subject, the expression and the requested kind of result.
const EXPRESSIONS: [(&str, &str, ResultKind); 8] = [
    (
        "one constant",
        "DW_OP_constu 0x12345, DW_OP_stack_value",
        ResultKind::Location,
    ),
    (
        "constants and arithmetic",
        "DW_OP_const2u 0x3e8, DW_OP_lit7, DW_OP_mul, DW_OP_constu 0x12345, DW_OP_plus, DW_OP_lit3, DW_OP_shl, \
         DW_OP_dup, DW_OP_lit9, DW_OP_minus, DW_OP_xor, DW_OP_plus_uconst 0x20, DW_OP_const4u 0xffffff, DW_OP_and",
        ResultKind::Value,
    ),
    ("fbreg", "DW_OP_fbreg -0x18", ResultKind::Location),
    (GIVEN, "DW_OP_fbreg -0x18", ResultKind::Location),
    (
        "breg and deref",
        "DW_OP_breg16 +0x8, DW_OP_deref, DW_OP_plus_uconst 0x10",
        ResultKind::Location,
    ),
    (
        "pieces",
        "DW_OP_regx SGPR4, DW_OP_piece 0x4, DW_OP_regx SGPR5, DW_OP_piece 0x4",
        ResultKind::Location,
    ),
    (
        // Ten iterations: subtract one, and branch back until it is zero.
        "branches",
        "DW_OP_lit10, DW_OP_lit1, DW_OP_minus, DW_OP_dup, DW_OP_bra -6, DW_OP_stack_value",
        ResultKind::Location,
    ),
    (
        "a call",
        "DW_OP_lit5, DW_OP_call4 0x30, DW_OP_lit2, DW_OP_mul",
        ResultKind::Value,
    ),
];

/// The location of the called entry.
const CALLED: &str = "DW_OP_lit8, DW_OP_plus";

pub(super) fn makers() -> Vec<Maker> {
    let mut makers = Vec::new();
    for (subject, text, _) in EXPRESSIONS.into_iter().filter(|(name, ..)| *name != GIVEN) {
        let decoded = |who: &str, run: fn(&[u8]) -> usize| {
            maker(format!("decode/{subject}/{who}"), move || {
                let bytes = bytes(text);
                assert_eq!(decode(bytes), decode_gimli(bytes));
                Case::new(move || run(bytes))
            })
        };
        makers.push(decoded("hetdwarf", decode));
        makers.push(decoded("gimli", decode_gimli));
    }
    for (subject, text, kind) in EXPRESSIONS {
        let evaluated = |who: &str, run: fn(&'static World, ResultKind) -> Found| {
            maker(format!("evaluate/{subject}/{who}"), move || {
                let world = World::new(text, subject == GIVEN);
                let found = ours(world, kind);
                assert_eq!(found, gimli::<StoreOnHeap>(world, kind), "{subject}");
                assert_eq!(found, gimli::<StoreInArrays>(world, kind), "{subject}");
                Case::new(move || run(world, kind))
            })
        };
        makers.push(evaluated("hetdwarf", ours));
        makers.push(maker(
            format!("evaluate/{subject}/hetdwarf, at a stop"),
            move || {
                let world = World::new(text, subject == GIVEN);
                Case::repeated(AT_A_STOP, move || at_a_stop(world, kind))
            },
        ));
        makers.push(evaluated("gimli", gimli::<StoreOnHeap>));
        makers.push(evaluated("gimli, arrays", gimli::<StoreInArrays>));
    }
    makers
}

pub(super) fn bytes(text: &str) -> &'static [u8] {
    let expression = parse(text, &ParseOptions::default()).unwrap();
    keep(expression.encode(Encoding::AMDGPU).unwrap())
}

/// A result, in the detail that both libraries report.
#[derive(Debug, PartialEq)]
enum Found {
    Value(u64),
    Address(u64),
    Pieces(usize),
}

/// The context of an evaluation.
struct World {
    expression: ExpressionBytes<'static>,
    called: ExpressionBytes<'static>,
    frame_base: ExpressionBytes<'static>,
    /// True if gimli gets the frame base.
    frame_base_given: bool,
}

impl World {
    fn new(text: &str, frame_base_given: bool) -> &'static World {
        keep(World {
            expression: ExpressionBytes::alone(bytes(text), UNIT),
            called: ExpressionBytes::alone(bytes(CALLED), UNIT),
            frame_base: ExpressionBytes::alone(bytes(FRAME_BASE), UNIT),
            frame_base_given,
        })
    }
}

/// Fills a buffer with the contents. Nearly all reads are of eight bytes.
fn fill(out: &mut [u8]) {
    let contents = CONTENTS.to_le_bytes();
    match out.first_chunk_mut() {
        Some(out) => *out = contents,
        None => out.copy_from_slice(&contents[..out.len()]),
    }
}

const UNIT: Unit = Unit::unknown(Encoding::AMDGPU);

impl Wave for World {
    fn wave_size(&self) -> WaveSize {
        WaveSize::Wave64
    }

    fn read_register(&self, _: Register, _: Range<u32>, out: &mut [u8]) -> Result<(), AccessError> {
        fill(out);
        Ok(())
    }

    fn read_memory(&self, _: Memory, _: u64, out: &mut [u8]) -> Result<(), AccessError> {
        fill(out);
        Ok(())
    }
}

impl<'a> Resolver<'a> for World {
    fn procedure(&self, _: Unit, _: DieReference) -> hetdwarf::Result<Procedure<'a>> {
        Ok(Procedure::Location(LocationAttribute::Expression(
            self.called,
        )))
    }

    fn base_type(&self, _: Unit, _: u64) -> hetdwarf::Result<BaseType> {
        panic!("no expression has a type")
    }

    fn address(&self, _: Unit, _: u64) -> hetdwarf::Result<u64> {
        panic!("no expression has an index")
    }

    fn location_list(
        &self,
        _: Unit,
        _: u64,
        _: u64,
        _: &mut dyn FnMut(Option<LocationEntry<'a>>) -> hetdwarf::Result<()>,
    ) -> hetdwarf::Result<()> {
        panic!("there are no lists")
    }
}

/// The innermost frame. Its registers are the wave's.
impl<'a> Frame<'a> for World {
    fn register(&self, register: Register) -> hetdwarf::Result<Location<'a>> {
        Ok(Location::register(register))
    }

    fn entry_register(&self, register: Register) -> hetdwarf::Result<Location<'a>> {
        self.register(register)
    }

    fn cfa(&self) -> hetdwarf::Result<Location<'a>> {
        let memory = Storage::Memory {
            space: AddressSpace::None,
            lane: LaneSelect::None,
        };
        Ok(Location::One(Place::new(memory, u128::from(CFA) * 8)))
    }

    fn with_caller(
        &self,
        _: &mut dyn FnMut(&dyn Frame<'a>, u64) -> hetdwarf::Result<()>,
    ) -> hetdwarf::Result<bool> {
        Ok(false)
    }
}

fn decode(bytes: &[u8]) -> usize {
    operations(bytes, Encoding::AMDGPU).count().unwrap()
}

/// Returns the context of a wave that stopped in a function.
fn context<'c, 'a>(world: &'a World, arena: &'a Arena<'a>) -> Context<'c, 'a>
where
    'a: 'c,
{
    Context::new(arena)
        .with_wave(world)
        .with_resolver(world)
        .with_frame(world)
        .with_subprogram(Subprogram {
            frame_base: Some(LocationAttribute::Expression(world.frame_base)),
            ..Subprogram::default()
        })
}

fn ours(world: &World, kind: ResultKind) -> Found {
    let arena = Arena::new();
    found(world, kind, &context(world, &arena))
}

fn at_a_stop(world: &World, kind: ResultKind) {
    let arena = Arena::new();
    let context = context(world, &arena);
    for _ in 0..AT_A_STOP {
        black_box(found(black_box(world), kind, &context));
    }
}

fn found(world: &World, kind: ResultKind, context: &Context<'_, '_>) -> Found {
    let outcome = evaluate(&world.expression, kind, context);
    match outcome.as_ref().unwrap() {
        Outcome::Value(value) => Found::Value(u64::try_from(value.bits).unwrap()),
        Outcome::Location(location) => match &location.single().unwrap().storage {
            Storage::Value { bits, .. } => Found::Value(u64::try_from(*bits).unwrap()),
            Storage::Composite(parts) => {
                Found::Pieces(usize::try_from(parts.part_count()).unwrap())
            }
            _ => Found::Address(location.byte_address().unwrap().1),
        },
    }
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

const GIMLI: gimli::Encoding = gimli::Encoding {
    address_size: 8,
    format: gimli::Format::Dwarf32,
    version: 5,
};

/// Storage with more than enough entries for all of the expressions.
struct StoreInArrays;

impl<'a> EvaluationStorage<Bytes<'a>> for StoreInArrays {
    type Stack = [Value; 16];
    type ExpressionStack = [(Bytes<'a>, Bytes<'a>); 4];
    type Result = [Piece<Bytes<'a>>; 4];
}

fn decode_gimli(bytes: &[u8]) -> usize {
    let expression = gimli::Expression(Bytes::new(bytes, LittleEndian));
    let mut operations = expression.operations(GIMLI);
    let mut count = 0;
    while operations.next().unwrap().is_some() {
        count += 1;
    }
    count
}

fn gimli_frame_base<'a, S: EvaluationStorage<Bytes<'a>>>(world: &'a World) -> u64 {
    let bytes = Bytes::new(world.frame_base.bytes, LittleEndian);
    let mut evaluation = Evaluation::<_, S>::new_in(bytes, GIMLI);
    let mut next = evaluation.evaluate().unwrap();
    while let EvaluationResult::RequiresCallFrameCfa = next {
        next = evaluation.resume_with_call_frame_cfa(CFA).unwrap();
    }
    match evaluation.as_result() {
        [
            Piece {
                location: gimli::Location::Address { address },
                ..
            },
        ] => *address,
        other => panic!("{other:?}"),
    }
}

fn gimli<'a, S: EvaluationStorage<Bytes<'a>>>(world: &'a World, kind: ResultKind) -> Found {
    let bytes = Bytes::new(world.expression.bytes, LittleEndian);
    let mut evaluation = Evaluation::<_, S>::new_in(bytes, GIMLI);
    let mut next = evaluation.evaluate().unwrap();
    loop {
        next = match next {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresRegister { .. } => {
                evaluation.resume_with_register(Value::Generic(CONTENTS))
            }
            EvaluationResult::RequiresMemory { .. } => {
                evaluation.resume_with_memory(Value::Generic(CONTENTS))
            }
            EvaluationResult::RequiresFrameBase => {
                let base = if world.frame_base_given {
                    CFA
                } else {
                    gimli_frame_base::<S>(world)
                };
                evaluation.resume_with_frame_base(base)
            }
            EvaluationResult::RequiresAtLocation(entry) => {
                assert_eq!(
                    entry,
                    gimli::DieReference::UnitRef(gimli::UnitOffset(ENTRY as usize))
                );
                evaluation.resume_with_at_location(Bytes::new(world.called.bytes, LittleEndian))
            }
            other => panic!("{other:?}"),
        }
        .unwrap();
    }
    if kind == ResultKind::Value
        && let Some(Value::Generic(value)) = evaluation.value_result()
    {
        return Found::Value(value);
    }
    match evaluation.as_result() {
        [piece] => match piece.location {
            gimli::Location::Value {
                value: Value::Generic(value),
            } => Found::Value(value),
            gimli::Location::Address { address } => Found::Address(address),
            other => panic!("{other:?}"),
        },
        pieces => Found::Pieces(pieces.len()),
    }
}
