//! Evaluates arbitrary bytes as an expression, in pseudo-random waves.

use super::wave::{Scrambled, mix};
use crate::gimli_oracle::{Case, compare, shrink};
use hetdwarf::arch::{AddressSpace, Lane, LoadAddress, Processor, Register, WaveSize};
use hetdwarf::error::{Error, ErrorKind, Result, SpecRule};
use hetdwarf::eval::{
    BaseType, BaseTypeEncoding, Context, DieReference, ExpressionBytes, Frame, LaneFocus,
    LocationAttribute, LocationEntry, LocationRange, Outcome, PerLane, Procedure, Reading,
    Resolver, ResultKind, Subprogram, Unit, Value, evaluate, locate, locate_lanes,
};
use hetdwarf::expr::{self, Dialect};
use hetdwarf::limits::Limits;
use hetdwarf::location::{Access, Arena, LaneSelect, Location, Place, Storage, read, read_lanes};

/// The most bits that are read of a result.
const MAX_BITS: u64 = 1 << 12;

/// The contents of an input: settings, and expressions.
#[derive(Clone, Copy, Debug)]
struct Input<'i> {
    wave_size: WaveSize,
    reading: Reading,
    encoding: expr::Encoding,
    /// The seed of the wave and the context.
    seed: u8,
    /// The number of bits that are read of the result.
    bits: u64,
    /// The location of called entries, and of location lists.
    procedure: &'i [u8],
    expression: &'i [u8],
}

impl<'i> Input<'i> {
    /// Splits the input: four bytes of settings, the expression, and the procedure.
    fn new(bytes: &'i [u8]) -> Option<Input<'i>> {
        let ([flags, seed, bits, split], rest) = bytes.split_first_chunk()?;
        let at = rest.len().saturating_sub(usize::from(*split));
        let (expression, procedure) = rest.split_at(at);
        let dialect = match flags >> 4 & 3 {
            0 => Dialect::User,
            1 => expr::Encoding::AMDGPU.in_memory().dialect,
            2 => Dialect::OneByte,
            _ => Dialect::Draft,
        };
        Some(Input {
            wave_size: if flags & 1 == 0 {
                WaveSize::Wave64
            } else {
                WaveSize::Wave32
            },
            reading: if flags & 2 == 0 {
                Reading::Tolerant
            } else {
                Reading::Strict
            },
            encoding: expr::Encoding {
                address_size: if flags & 4 == 0 { 8 } else { 4 },
                offset_size: if flags & 8 == 0 { 4 } else { 8 },
                dialect,
            },
            seed: *seed,
            bits: match bits {
                0..=200 => u64::from(*bits),
                _ => u64::from(*bits - 200) * 64,
            },
            procedure,
            expression,
        })
    }

    fn unit(&self) -> Unit {
        Unit {
            id: 0,
            encoding: self.encoding,
        }
    }
}

/// Evaluates the expression for all lanes at once and for each lane, and reads the result.
///
/// # Panics
/// If the results for all lanes and for single lanes differ. If requiring a kind of result changes the result. If reading fewer bits gives
/// other bits.
pub fn check(bytes: &[u8]) {
    let Some(input) = Input::new(bytes) else {
        return;
    };
    let wave = Scrambled::new(input.wave_size, input.seed);
    let arena = Arena::new();
    let frame = CallFrame { is_caller: false };
    let tls = |offset: u64| memory(offset & 0xffff_ffff);
    let attribute =
        |bytes| LocationAttribute::Expression(ExpressionBytes::alone(bytes, input.unit()));
    let initial = [Outcome::Value(Value::generic(
        0x1000,
        u32::from(input.encoding.address_size) * 8,
    ))];
    let has = |bit: u32| input.seed >> bit & 1 == 0;
    let mut context = Context::new(&arena);
    context.wave = Some(&wave);
    context.processor = Processor::by_name(if has(1) { "gfx90a" } else { "gfx1100" });
    context.frame = has(2).then_some(&frame as &dyn Frame<'_>);
    context.pc = has(3).then_some(0x100);
    context.load_address = LoadAddress(0x7000_0000_0000 * u64::from(input.seed & 1));
    context.resolver = has(4).then_some(&input as &dyn Resolver<'_>);
    context.subprogram = has(5).then_some(Subprogram {
        frame_base: Some(attribute(&[0x90, 33])),
        lanes: has(6).then_some(u64::from(input.seed & 63)),
        iterations: None,
    });
    context.iteration = has(6).then_some(3);
    context.object = has(7).then(|| Location::register(Register::sgpr(4).unwrap()));
    context.tls = has(2).then_some(&tls);
    context.initial_stack = if has(7) { &initial } else { &[] };
    context.reading = input.reading;
    context.limits = limits();
    lanes(&attribute(input.expression), &context, input.bits);
    kinds(input, &context);
}

/// Returns small limits, so that each is reached.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.steps = 1 << 10;
    limits.stack = 64;
    limits.depth = 8;
    limits.parts = 128;
    limits.bits = MAX_BITS;
    limits
}

/// Compares an evaluation for all lanes with evaluations for single lanes.
fn lanes<'a>(attribute: &LocationAttribute<'a>, context: &Context<'_, 'a>, bits: u64) {
    let wave = context.wave.unwrap();
    let all = locate_lanes(attribute, context);
    for lane in wave.wave_size().all_lanes() {
        let one = locate(attribute, &context.with_lane(LaneFocus::One(lane)));
        let access = Access {
            wave,
            lane: Some(lane),
            max_bits: MAX_BITS,
            meter: None,
        };
        match (&all, one) {
            (Ok(PerLane::All(all)), Ok(one)) => {
                let (all, one) = (read(all, bits, &access), read(&one, bits, &access));
                assert_same(&all, &one, lane);
            }
            (Ok(PerLane::All(all)), Err(error)) => {
                assert!(is_limit(&error), "{lane:?}: {all:?}, but by itself {error}");
            }
            // These were evaluated lane by lane.
            (Ok(PerLane::Each(each)), one) => {
                let same = format!("{:?}", each[usize::from(lane.0)]) == format!("{one:?}");
                assert!(
                    same,
                    "{lane:?}: {:?}, but {one:?}",
                    each[usize::from(lane.0)]
                );
            }
            (Err(all), Err(one)) => {
                assert_eq!(all.kind(), one.kind(), "{lane:?}");
            }
            (Err(all), Ok(one)) => {
                assert!(is_limit(all), "{lane:?}: {one:?}, but for all lanes {all}");
            }
        }
    }
    if let Ok(PerLane::All(location)) = &all {
        rows(location, context, bits);
    }
}

/// Compares reading all lanes in one access with reading each lane.
fn rows(location: &Location<'_>, context: &Context<'_, '_>, bits: u64) {
    let wave = context.wave.unwrap();
    let together = read_lanes(
        location,
        bits,
        &Access {
            wave,
            lane: None,
            max_bits: MAX_BITS,
            meter: None,
        },
    );
    for lane in wave.wave_size().all_lanes() {
        let access = Access {
            wave,
            lane: Some(lane),
            max_bits: MAX_BITS,
            meter: None,
        };
        let alone = read(location, bits, &access);
        match (&together, &alone) {
            (Ok(together), alone) => assert_same(&Ok(together.bits(lane)), alone, lane),
            // At least one lane fails in the same way.
            (Err(_), _) => continue,
        }
        // Among several places, the first with too few bits can be another one.
        let single = location
            .single()
            .filter(|place| !matches!(place.storage, Storage::Composite(_)));
        if let (Ok(alone), Some(_)) = (alone, single) {
            let half = read(location, bits / 2, &access).expect("fewer bits of what can be read");
            let whole_bytes = usize::try_from(bits / 16).unwrap();
            assert_eq!(
                half.bytes[..whole_bytes],
                alone.bytes[..whole_bytes],
                "{lane:?}"
            );
        }
    }
}

fn assert_same<T: PartialEq + core::fmt::Debug>(all: &Result<T>, one: &Result<T>, lane: Lane) {
    match (all, one) {
        (Ok(all), Ok(one)) => assert_eq!(all, one, "{lane:?}"),
        (Err(all), Err(one)) => assert!(
            all.kind() == one.kind() || is_limit(all) || is_limit(one),
            "{lane:?}: {all}, but by itself {one}"
        ),
        (Ok(all), Err(one)) => assert!(is_limit(one), "{lane:?}: {all:?}, but by itself {one}"),
        (Err(all), Ok(one)) => assert!(is_limit(all), "{lane:?}: {all}, but by itself {one:?}"),
    }
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Limit { .. })
}

/// Checks that requiring a value or a location does not change a result that already has this kind.
fn kinds<'a>(input: Input<'a>, context: &Context<'_, 'a>) {
    let lane = Lane(input.seed % 32);
    for lane in [LaneFocus::None, LaneFocus::One(lane), LaneFocus::All] {
        let context = context.with_lane(lane);
        let evaluate = |kind| {
            let expression = ExpressionBytes::alone(input.expression, input.unit());
            evaluate(&expression, kind, &context)
        };
        let any = evaluate(ResultKind::Any);
        let required = match any {
            Ok(Outcome::Value(_)) => ResultKind::Value,
            // The value of a pointer that was optimised away is the location of its pointee.
            Ok(Outcome::Location(Location::One(Place {
                storage: Storage::ImplicitPointer(_),
                ..
            }))) => continue,
            Ok(Outcome::Location(_)) => ResultKind::Location,
            Err(_) => continue,
        };
        let required = evaluate(required);
        assert_eq!(format!("{any:?}"), format!("{required:?}"), "{lane:?}");
    }
}

fn memory<'a>(address: u64) -> Result<Location<'a>> {
    let storage = Storage::Memory {
        space: AddressSpace::None,
        lane: LaneSelect::None,
    };
    Ok(Location::One(Place::new(storage, u128::from(address) * 8)))
}

impl<'a> Resolver<'a> for Input<'a> {
    fn procedure(&self, unit: Unit, die: DieReference) -> Result<Procedure<'a>> {
        let (DieReference::InUnit(offset) | DieReference::InSection(offset)) = die;
        let expression = ExpressionBytes::alone(self.procedure, unit);
        Ok(match offset % 4 {
            0 => Procedure::Location(LocationAttribute::Expression(expression)),
            1 => Procedure::Location(LocationAttribute::List { unit, offset }),
            2 => Procedure::Constant(self.procedure),
            _ => Procedure::Nothing,
        })
    }

    fn base_type(&self, _: Unit, offset: u64) -> Result<BaseType> {
        let bit_sizes = [8, 16, 32, 64, 128, 1, 24, 63];
        let encodings = [
            BaseTypeEncoding::Signed,
            BaseTypeEncoding::Unsigned,
            BaseTypeEncoding::Float,
            BaseTypeEncoding::Boolean,
            BaseTypeEncoding::Address,
            BaseTypeEncoding::SignedChar,
            BaseTypeEncoding::Utf,
            BaseTypeEncoding::Other(0x3f),
        ];
        if offset >= 127 {
            return Err(SpecRule::NotABaseType.into());
        }
        let (encoding, size) = (offset as usize / 8 % 8, offset as usize % 8);
        Ok(BaseType::scalar(encodings[encoding], bit_sizes[size]))
    }

    fn address(&self, _: Unit, index: u64) -> Result<u64> {
        Ok(mix(index) >> (index % 64))
    }

    fn location_list(
        &self,
        unit: Unit,
        _: u64,
        _: u64,
        visit: &mut dyn FnMut(Option<LocationEntry<'a>>) -> Result<()>,
    ) -> Result<()> {
        // Two places, one of which a call may have.
        let other: &[u8] = &[0x90, 40];
        for bytes in [self.procedure, other] {
            let expression = ExpressionBytes::alone(bytes, unit);
            let range = LocationRange::Bounded(0..u64::MAX);
            visit(Some(LocationEntry::new(range, expression)))?;
        }
        Ok(())
    }
}

/// A frame whose registers are in the wave, or its caller, whose registers were saved in memory.
struct CallFrame {
    is_caller: bool,
}

impl<'a> Frame<'a> for CallFrame {
    fn register(&self, register: Register) -> Result<Location<'a>> {
        if self.is_caller {
            memory(0x6000_0000 + 256 * u64::from(register.number()))
        } else {
            Ok(Location::register(register))
        }
    }

    fn entry_register(&self, register: Register) -> Result<Location<'a>> {
        self.register(register)
    }

    fn cfa(&self) -> Result<Location<'a>> {
        memory(0x7fff_0000)
    }

    fn with_caller(
        &self,
        visit: &mut dyn FnMut(&dyn Frame<'a>, u64) -> Result<()>,
    ) -> Result<bool> {
        if self.is_caller {
            return Ok(false);
        }
        visit(&CallFrame { is_caller: true }, 0x40)?;
        Ok(true)
    }
}

/// Checks that an expression of DWARF 5, whose operations the bytes choose, evaluates as in gimli.
///
/// # Panics
/// If the results differ.
pub fn as_gimli(choices: &[u8]) {
    let case = Case::from_choices(choices);
    if let Err(reason) = compare(&case) {
        let small = shrink(case.clone());
        panic!("{}: {reason}\nshorter: {}", case.print(), small.print());
    }
}
