//! Compares expressions of DWARF 5 with gimli's `Evaluation`.
//!
//! gimli has no location descriptions on the stack: a location is an address, or ends the expression. [`DIFFERENCES`] lists the justified
//! differences, which have this or another reason.

mod generator;
mod ours;
mod random;
mod theirs;
mod world;

use gimli::{Location as TheirLocation, Piece, Value as TheirValue};
use hetdwarf::arch::{AddressSpace, Lane};
use hetdwarf::error::{Error, ErrorKind, Limit, SpecRule};
use hetdwarf::eval::{BaseTypeEncoding, LaneFocus, Outcome, ResultKind, Value};
use hetdwarf::expr::Printer;
use hetdwarf::location::{Arena, Location, Place, Storage};

use generator::{FIRST_PROCEDURE, Generator, PROCEDURES};
pub use generator::{Op, assemble};
use random::Random;
use theirs::{Fault, Found};
use world::{BaseType, Kind, Trouble};

/// The known differences, with reasons. The generator avoids them.
pub const DIFFERENCES: &[(&str, &str)] = &[
    (
        "a register, implicit location or stack_value that is not last and not before a piece",
        "HET A.2.5.4: locations are entries like any other; gimli: InvalidExpressionTerminator",
    ),
    (
        "a piece with entries left below it, or the reverse: something after the last piece",
        "HET A.2.5.4.4.6 appends only to what lies directly below, and takes the top as the result; gimli keeps pieces beside the stack",
    ),
    (
        "a piece that is larger than its register, value or block",
        "HET A.2.5.4.4.6: ill-formed; gimli does not know the sizes",
    ),
    (
        "nothing on the stack at the end",
        "HET A.2.5.4: an undefined location; gimli: NotEnoughStackItems",
    ),
    (
        "a float as the result",
        "HET: a value like any other; gimli wants an address: IntegralTypeRequired",
    ),
    (
        "a typed value as an address or a piece",
        "HET A.2.5.4.4.3: only generic values convert to locations; gimli takes any integer",
    ),
    (
        "fbreg, call_frame_cfa and the like past an end of the address space",
        "HET A.2.5.4.4.1: out of bounds; gimli wraps",
    ),
    (
        "an entry value that is a memory location",
        "HET A.2.5.4.3.4: neither a value nor a register",
    ),
    (
        "a branch into the middle of an operation",
        "HET A.2.5.4.2: ill-formed; gimli goes there",
    ),
    (
        "a block of const_type that is longer than its type",
        "HET A.2.5.4.3.1: ill-formed; gimli reads the first bytes",
    ),
    (
        "deref_size and deref_type of more bytes than an address",
        "HET A.2.5.4.3.4 reads the generic type, or the whole type; gimli: InvalidDerefSize",
    ),
    (
        "neg of an unsigned value, shr of a signed one, shra of an unsigned one",
        "the bits say what the result is; gimli: UnsupportedTypeOperation",
    ),
    (
        "abs of -0.0 and of a negative NaN",
        "the sign goes; gimli negates what is less than 0",
    ),
    (
        "a negative integer converted to a float",
        "the number is converted; gimli converts its bits as an unsigned one",
    ),
    (
        "a float of 2^32 and more converted to a generic type of 32 bits",
        "not defined by DWARF; the largest number here, wrapped in gimli",
    ),
    (
        "a generic shift count of more than 32 bits with addresses of 4 bytes",
        "it is cut when it is pushed; gimli does not cut shift counts",
    ),
    (
        "regval_type of a float that is -0.0 or a signalling NaN",
        "gimli adds 0.0 to it",
    ),
    (
        "how many steps are too many",
        "an expression has one budget here, also for entry values and frame bases; in gimli each evaluation has its own",
    ),
    (
        "a LEB128 number of more than 64 bits or more than 10 bytes",
        "HET A.2.5.4.3.1: truncated; gimli: BadUnsignedLeb128",
    ),
];

/// The offset of the unit's header, for references from other units.
const UNIT: usize = 0x1_0000;

/// The most operations that gimli's evaluation may execute. hetdwarf may execute ten times as many.
const STEPS: u32 = 3000;

/// An expression and the settings for reading it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The size of an address, 4 or 8 bytes.
    pub address_size: u8,
    /// True if it is read tolerantly, as needed for real producers.
    pub tolerant: bool,
    /// The generic value that is initially on the stack.
    pub initial: Option<u64>,
    /// The operations before assembly.
    pub ops: Vec<Op>,
    /// The assembled expression.
    pub bytes: Vec<u8>,
}

impl Case {
    /// Generates the case of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Case {
        Case::generate(Random::new(seed))
    }

    /// Generates a case whose choices are bytes, so that changing a byte changes a choice. After the last byte, choices come from a fixed
    /// seed.
    #[must_use]
    pub fn from_choices(choices: &[u8]) -> Case {
        Case::generate(Random::from_choices(choices))
    }

    fn generate(mut random: Random<'_>) -> Case {
        let address_size = if random.once_in(3) { 4 } else { 8 };
        let tolerant = random.once_in(2);
        let initial = random.once_in(6).then(|| {
            let value = random.number();
            if address_size == 4 {
                value & 0xffff_ffff
            } else {
                value
            }
        });
        let generator = Generator::new(
            &mut random,
            address_size,
            tolerant,
            usize::from(initial.is_some()),
        );
        let mut case = Case {
            address_size,
            tolerant,
            initial,
            ops: generator.expression(),
            bytes: Vec::new(),
        };
        case.bytes = assemble(&case.ops);
        case
    }

    /// Returns true if the expression contains a nested evaluation.
    fn has_entry_value(&self) -> bool {
        self.ops
            .iter()
            .any(|op| matches!(op, Op::Bytes(bytes) if matches!(bytes.first(), Some(0xa3 | 0xf3))))
    }

    /// Returns the location attribute of the entry at an offset of the unit.
    fn procedure(&self, offset: usize) -> Option<&[u8]> {
        let number = offset.checked_sub(FIRST_PROCEDURE)? / 4;
        PROCEDURES.get(number).map(|(bytes, _)| *bytes)
    }

    /// Prints the expression in bytes and as text, with the settings for reading it.
    #[must_use]
    pub fn print(&self) -> String {
        let bytes: String = self
            .bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let text = Printer::new(ours::encoding(self.address_size)).expression(&self.bytes);
        let Case {
            address_size,
            tolerant,
            initial,
            ..
        } = self;
        format!(
            "{bytes}, address size {address_size}, tolerant {tolerant}, initial {initial:x?}\n  {text}"
        )
    }
}

/// The kind of result in which both evaluators agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed {
    /// A value.
    Value,
    /// A single location.
    Location,
    /// A composite location.
    Composite,
    /// An error of the same kind.
    Error,
}

/// Evaluates a case with both evaluators and compares the results.
///
/// # Errors
/// The results of both evaluators, if they differ.
pub fn compare(case: &Case) -> Result<Agreed, String> {
    let theirs = theirs::evaluate(case, &case.bytes, false, STEPS);
    let arena = Arena::new();
    let any = ours::evaluate_case(case, ResultKind::Any, LaneFocus::None, &arena);
    // The cases do not depend on the lane.
    for lane in [LaneFocus::One(Lane(5)), LaneFocus::All] {
        let other = ours::evaluate_case(case, ResultKind::Any, lane, &arena);
        let same = match (&any, &other) {
            (Ok(any), Ok(other)) => same_shape(any, other),
            (any, other) => any == other,
        };
        if !same {
            return Err(format!("{any:?}, but {other:?} for {lane:?}"));
        }
    }
    match (theirs, any) {
        // The evaluators count steps differently.
        (Err(Fault::Gimli(gimli::Error::TooManyIterations)), _) => Ok(Agreed::Error),
        (_, Err(error)) if case.has_entry_value() && is_step_limit(&error) => Ok(Agreed::Error),
        (Err(fault), Err(error)) => {
            if fault_matches(fault, error.kind()) {
                return Ok(Agreed::Error);
            }
            Err(format!("errors of two kinds: {fault:?}, but {error}"))
        }
        (Ok(theirs), Ok(any)) => compare_results(case, &theirs, &any, &arena),
        (Err(fault), Ok(any)) => Err(format!("{fault:?}, but {any:?}")),
        (Ok(theirs), Err(error)) => Err(format!("{theirs:?}, but {error}")),
    }
}

fn is_step_limit(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Limit {
            limit: Limit::Steps,
            ..
        }
    )
}

/// Returns true if two results are equal. Composites are compared as text, because each evaluation makes new ones.
fn same_shape(a: &Outcome<'_>, b: &Outcome<'_>) -> bool {
    a == b || format!("{a:?}") == format!("{b:?}")
}

fn compare_results<'a>(
    case: &'a Case,
    theirs: &Found<'_>,
    any: &Outcome<'a>,
    arena: &'a Arena<'a>,
) -> Result<Agreed, String> {
    let different = || Err(format!("{theirs:?}, but {any:?}"));
    let value = || ours::evaluate_case(case, ResultKind::Value, LaneFocus::None, arena);
    let location = || ours::evaluate_case(case, ResultKind::Location, LaneFocus::None, arena);
    if let Some(expected) = theirs.value {
        let Ok(Outcome::Value(value)) = value() else {
            return different();
        };
        if !same_value(case, expected, &value) {
            return different();
        }
        match any {
            Outcome::Value(same) if *same == value => {}
            Outcome::Location(place) if is_address(place, low_bits(expected)) => {}
            Outcome::Value(_) | Outcome::Location(_) => return different(),
        }
        let generic = matches!(expected, TheirValue::Generic(_));
        return match (generic, location(), theirs.pieces.as_slice()) {
            (
                true,
                Ok(Outcome::Location(place)),
                [
                    Piece {
                        location: TheirLocation::Address { address },
                        ..
                    },
                ],
            ) if is_address(&place, *address) => Ok(Agreed::Value),
            (false, Err(_), _) => Ok(Agreed::Value),
            (_, found, _) => Err(format!("{theirs:?}, but as a location {found:?}")),
        };
    }
    let Outcome::Location(found) = any else {
        return different();
    };
    if location()
        .ok()
        .is_none_or(|location| !same_shape(&location, any))
    {
        return different();
    }
    let Some(place) = found.single() else {
        return different();
    };
    if let [
        Piece {
            size_in_bits: None,
            bit_offset: None,
            location,
        },
    ] = &theirs.pieces[..]
    {
        let same = same_place(case, location, 0, place);
        return if same {
            Ok(Agreed::Location)
        } else {
            different()
        };
    }
    let Storage::Composite(composite) = place.storage else {
        return different();
    };
    let parts: Vec<_> = composite.parts().collect();
    let same = parts.len() == theirs.pieces.len()
        && place.bit_offset == 0
        && parts.iter().zip(&theirs.pieces).all(|(part, piece)| {
            let offset = piece.bit_offset.unwrap_or(0);
            piece.size_in_bits.map(u128::from) == Some(part.bit_size)
                && part
                    .location
                    .single()
                    .is_some_and(|place| same_place(case, &piece.location, offset, place))
        });
    if same {
        Ok(Agreed::Composite)
    } else {
        different()
    }
}

fn low_bits(value: TheirValue) -> u64 {
    match value {
        TheirValue::Generic(value) | TheirValue::U64(value) => value,
        TheirValue::I8(value) => value.cast_unsigned().into(),
        TheirValue::U8(value) => value.into(),
        TheirValue::I16(value) => value.cast_unsigned().into(),
        TheirValue::U16(value) => value.into(),
        TheirValue::I32(value) => value.cast_unsigned().into(),
        TheirValue::U32(value) => value.into(),
        TheirValue::I64(value) => value.cast_unsigned(),
        TheirValue::F32(value) => value.to_bits().into(),
        TheirValue::F64(value) => value.to_bits(),
    }
}

fn generic_mask(case: &Case) -> u64 {
    if case.address_size == 4 {
        0xffff_ffff
    } else {
        u64::MAX
    }
}

/// Returns true if the bits represent the value. Computed NaNs may have different bits.
fn same_bits(case: &Case, expected: TheirValue, bits: u128) -> bool {
    let wanted = match expected {
        TheirValue::Generic(value) => value & generic_mask(case),
        other => low_bits(other),
    };
    let Ok(bits) = u64::try_from(bits) else {
        return false;
    };
    let both_nan = match expected {
        TheirValue::F32(value) => {
            value.is_nan() && u32::try_from(bits).is_ok_and(|bits| f32::from_bits(bits).is_nan())
        }
        TheirValue::F64(value) => value.is_nan() && f64::from_bits(bits).is_nan(),
        _ => false,
    };
    bits == wanted || both_nan
}

fn same_value(case: &Case, expected: TheirValue, found: &Value) -> bool {
    let ty = found.base_type;
    let kind = match ty.encoding {
        BaseTypeEncoding::Generic => None,
        BaseTypeEncoding::Signed => Some(Kind::Signed),
        BaseTypeEncoding::Unsigned => Some(Kind::Unsigned),
        BaseTypeEncoding::Float => Some(Kind::Float),
        _ => return false,
    };
    let same_type = match kind {
        None => {
            matches!(expected, TheirValue::Generic(_))
                && ty.bit_size == u32::from(case.address_size) * 8
        }
        Some(kind) => {
            let ty = BaseType {
                offset: 0,
                kind,
                bytes: u8::try_from(ty.bit_size / 8).unwrap(),
            };
            theirs::value_type(ty) == expected.value_type()
        }
    };
    same_type && ty.elements == 1 && same_bits(case, expected, found.bits)
}

fn is_address(location: &Location<'_>, address: u64) -> bool {
    location
        .byte_address()
        .is_some_and(|(space, found)| space == AddressSpace::None && found == address)
}

fn same_place(
    case: &Case,
    expected: &TheirLocation<gimli::EndianSlice<'_, gimli::LittleEndian>>,
    bit_offset: u64,
    found: &Place<'_>,
) -> bool {
    let offset = u128::from(bit_offset);
    let same_storage = match (expected, found.storage) {
        (TheirLocation::Empty, Storage::Undefined) => return true,
        (TheirLocation::Register { register }, Storage::Register(found)) => register.0 == found.0,
        (
            TheirLocation::Address { address },
            Storage::Memory {
                space: AddressSpace::None,
                ..
            },
        ) => {
            return found.bit_offset == u128::from(*address) * 8 + offset && found.lane_step == 0;
        }
        (TheirLocation::Value { value }, Storage::Value { bits, bit_size }) => {
            let mask = generic_mask(case);
            same_bits(case, *value, bits)
                && value.value_type().bit_size(mask) == u32::from(bit_size)
        }
        (TheirLocation::Bytes { value }, Storage::Constant(bytes)) => value.slice() == bytes,
        (
            TheirLocation::ImplicitPointer { value, byte_offset },
            Storage::ImplicitPointer(pointer),
        ) => {
            pointer.entry == value.0 as u64
                && pointer.byte_offset == *byte_offset
                && pointer.bit_size == u16::from(case.address_size) * 8
        }
        _ => false,
    };
    same_storage && found.bit_offset == offset && found.lane_step == 0
}

/// Returns true if two errors are of the same kind.
fn fault_matches(fault: Fault, kind: &ErrorKind) -> bool {
    use gimli::Error as E;
    match fault {
        Fault::Gimli(E::NotEnoughStackItems) => matches!(kind, ErrorKind::StackUnderflow { .. }),
        Fault::Gimli(E::DivisionByZero) => *kind == ErrorKind::DivideByZero,
        Fault::Gimli(E::TypeMismatch) => {
            matches!(
                kind,
                ErrorKind::TypeMismatch { .. } | ErrorKind::IllFormed(SpecRule::ReinterpretSize)
            )
        }
        Fault::Gimli(E::IntegralTypeRequired | E::InvalidShiftExpression) => {
            matches!(kind, ErrorKind::TypeMismatch { .. })
        }
        Fault::Gimli(E::UnexpectedEof(_)) => matches!(kind, ErrorKind::Truncated { .. }),
        Fault::Gimli(E::InvalidExpression(_)) => matches!(kind, ErrorKind::UnknownOperation { .. }),
        Fault::Gimli(E::BadBranchTarget(_)) => {
            *kind == ErrorKind::IllFormed(SpecRule::BranchTarget)
        }
        Fault::Memory(Trouble::PastTheEnd) => matches!(kind, ErrorKind::OutOfBounds { .. }),
        Fault::Memory(Trouble::Unavailable) => matches!(kind, ErrorKind::Unavailable(_)),
        Fault::Memory(Trouble::NoSuchSpace) => {
            *kind == ErrorKind::IllFormed(SpecRule::AddressSpace)
        }
        Fault::Register => matches!(kind, ErrorKind::OutOfBounds { .. }),
        Fault::NoType => *kind == ErrorKind::IllFormed(SpecRule::NotABaseType),
        Fault::Size => *kind == ErrorKind::IllFormed(SpecRule::DerefTypeSize),
        Fault::EntryValue => *kind == ErrorKind::IllFormed(SpecRule::EntryValueKind),
        Fault::Gimli(_) => false,
    }
}

/// Summarizes a difference: which evaluators have a result, and the error of the other.
fn look(case: &Case) -> String {
    let arena = Arena::new();
    let ours = ours::evaluate_case(case, ResultKind::Any, LaneFocus::None, &arena);
    let ours = match ours {
        Ok(Outcome::Value(_)) => "value",
        Ok(Outcome::Location(_)) => "location",
        Err(error) => return format!("{} in {:?}", error.kind().name(), error.operation()),
    };
    match theirs::evaluate(case, &case.bytes, false, STEPS) {
        Ok(_) => format!("{ours} and a result"),
        Err(fault) => format!("{ours} and {fault:?}"),
    }
}

/// Removes operations as long as the results of the case still differ in the same way.
#[must_use]
pub fn shrink(mut case: Case) -> Case {
    let first = look(&case);
    let mut width = case.ops.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        while at < case.ops.len() {
            let mut smaller = case.clone();
            smaller.ops.drain(at..(at + width).min(case.ops.len()));
            smaller.bytes = assemble(&smaller.ops);
            if compare(&smaller).is_err() && look(&smaller) == first {
                case = smaller;
            } else {
                at += width;
            }
        }
        if width == 1 {
            return case;
        }
        width = width.div_ceil(2);
    }
}
