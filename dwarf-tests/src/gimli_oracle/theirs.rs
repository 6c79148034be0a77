//! Evaluates cases with gimli.

use gimli::{
    DieReference, EndianSlice, Evaluation, EvaluationResult, LittleEndian, Location, Piece, Value,
    ValueType,
};

use super::Case;
use super::world::{self, BaseType, Kind, Trouble};

type Bytes<'c> = EndianSlice<'c, LittleEndian>;

/// The result of gimli.
#[derive(Debug)]
pub struct Found<'c> {
    /// The value, if no operation made a location.
    pub value: Option<Value>,
    pub pieces: Vec<Piece<Bytes<'c>>>,
}

/// The reason why there is no result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    Gimli(gimli::Error),
    Memory(Trouble),
    /// A register is missing, or has too few bits.
    Register,
    /// There is no base type at this offset.
    NoType,
    /// The size of the operation differs from the size of the type.
    Size,
    /// The entry value is not a value.
    EntryValue,
}

impl From<gimli::Error> for Fault {
    fn from(error: gimli::Error) -> Fault {
        Fault::Gimli(error)
    }
}

pub fn value_type(ty: BaseType) -> ValueType {
    match (ty.kind, ty.bytes) {
        (Kind::Signed, 1) => ValueType::I8,
        (Kind::Signed, 2) => ValueType::I16,
        (Kind::Signed, 4) => ValueType::I32,
        (Kind::Signed, _) => ValueType::I64,
        (Kind::Unsigned, 1) => ValueType::U8,
        (Kind::Unsigned, 2) => ValueType::U16,
        (Kind::Unsigned, 4) => ValueType::U32,
        (Kind::Unsigned, _) => ValueType::U64,
        (Kind::Float, 4) => ValueType::F32,
        (Kind::Float, _) => ValueType::F64,
    }
}

/// Returns the type at an offset. Returns `None` for 0, which is the generic type.
fn type_at(offset: usize) -> Result<Option<BaseType>, Fault> {
    match offset {
        0 => Ok(None),
        offset => BaseType::at(offset as u64).map(Some).ok_or(Fault::NoType),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn parse(ty: Option<BaseType>, bytes: &[u8]) -> Result<Value, Fault> {
    Ok(match ty {
        None => Value::Generic(number(bytes)),
        Some(ty) => Value::parse(value_type(ty), Bytes::new(bytes, LittleEndian))?,
    })
}

pub fn encoding(address_size: u8) -> gimli::Encoding {
    gimli::Encoding {
        address_size,
        format: gimli::Format::Dwarf32,
        version: 5,
    }
}

/// Evaluates an expression, in the caller's frame if `in_caller`.
pub fn evaluate<'c>(
    case: &'c Case,
    bytes: &'c [u8],
    in_caller: bool,
    steps: u32,
) -> Result<Found<'c>, Fault> {
    let mask = if case.address_size == 8 {
        u64::MAX
    } else {
        0xffff_ffff
    };
    let mut evaluation =
        Evaluation::new(Bytes::new(bytes, LittleEndian), encoding(case.address_size));
    evaluation.set_max_iterations(steps);
    if !in_caller {
        evaluation.set_object_address(world::OBJECT);
        if let Some(value) = case.initial {
            evaluation.set_initial_value(value);
        }
    }
    let mut next = evaluation.evaluate()?;
    loop {
        next = match next {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory {
                address,
                size,
                space,
                base_type,
            } => {
                let ty = type_at(base_type.0)?;
                if ty.is_some_and(|ty| ty.bytes != size) {
                    return Err(Fault::Size);
                }
                let bytes = world::read_memory(space.unwrap_or(0), address, size);
                let value = parse(ty, &bytes.map_err(Fault::Memory)?)?;
                evaluation.resume_with_memory(value)?
            }
            EvaluationResult::RequiresRegister {
                register,
                base_type,
            } => {
                let ty = type_at(base_type.0)?;
                let length = ty.map_or(case.address_size, |ty| ty.bytes);
                let bytes = read_register(case, register.0, length, in_caller, ty.is_none());
                evaluation.resume_with_register(parse(ty, &bytes?)?)?
            }
            EvaluationResult::RequiresFrameBase => {
                evaluation.resume_with_frame_base(world::FRAME_BASE)?
            }
            EvaluationResult::RequiresTls(offset) => {
                evaluation.resume_with_tls(world::tls(offset))?
            }
            EvaluationResult::RequiresCallFrameCfa => {
                let cfa = world::CFA + u64::from(in_caller) * 64;
                evaluation.resume_with_call_frame_cfa(cfa)?
            }
            EvaluationResult::RequiresAtLocation(entry) => {
                let offset = match entry {
                    DieReference::UnitRef(offset) => offset.0,
                    DieReference::DebugInfoRef(offset) => offset.0 - super::UNIT,
                };
                let bytes = case.procedure(offset).unwrap_or_default();
                evaluation.resume_with_at_location(Bytes::new(bytes, LittleEndian))?
            }
            EvaluationResult::RequiresEntryValue(expression) => {
                let found = evaluate(case, expression.0.slice(), true, steps)?;
                let value = entry_value(case, &found)?;
                evaluation.resume_with_entry_value(value)?
            }
            EvaluationResult::RequiresRelocatedAddress(address) => {
                let address = address.wrapping_add(world::LOAD_ADDRESS) & mask;
                evaluation.resume_with_relocated_address(address)?
            }
            EvaluationResult::RequiresIndexedAddress { index, relocate } => {
                let address = world::ADDRESSES[index.0];
                let load = if relocate { world::LOAD_ADDRESS } else { 0 };
                evaluation.resume_with_indexed_address(address + load)?
            }
            EvaluationResult::RequiresBaseType(offset) => {
                let ty = type_at(offset.0)?.map_or(ValueType::Generic, value_type);
                evaluation.resume_with_base_type(ty)?
            }
            other => panic!("{other:?} is not generated"),
        };
    }
    Ok(Found {
        value: evaluation.value_result(),
        pieces: evaluation.result(),
    })
}

/// Returns bytes of a register of a frame. In a tolerant reading, a narrow register is zero-extended to an address.
fn read_register(
    case: &Case,
    register: u16,
    length: u8,
    in_caller: bool,
    as_address: bool,
) -> Result<Vec<u8>, Fault> {
    let bits = world::register_bits(register).ok_or(Fault::Register)?;
    let available = u8::try_from(bits / 8).unwrap_or(u8::MAX);
    let taken = if as_address && case.tolerant {
        length.min(available)
    } else {
        length
    };
    if taken > available {
        return Err(Fault::Register);
    }
    let mut bytes = if in_caller {
        let address = world::SAVE_AREA + 64 * u64::from(register);
        world::read_memory(0, address, taken).map_err(Fault::Memory)?
    } else {
        world::read_register(register, taken).ok_or(Fault::Register)?
    };
    bytes.resize(length.into(), 0);
    Ok(bytes)
}

/// Returns the value of an expression in the caller's frame. A register location yields the integer in the register.
fn entry_value(case: &Case, found: &Found<'_>) -> Result<Value, Fault> {
    if let Some(value) = found.value {
        return Ok(value);
    }
    match found.pieces.as_slice() {
        [
            Piece {
                size_in_bits: None,
                location: Location::Register { register },
                ..
            },
        ] => {
            let bits = world::register_bits(register.0).ok_or(Fault::Register)?;
            let length = u8::try_from(bits / 8).map_err(|_| Fault::Register)?;
            let bytes = read_register(case, register.0, length, true, false)?;
            Ok(Value::Generic(number(&bytes)))
        }
        _ => Err(Fault::EntryValue),
    }
}
