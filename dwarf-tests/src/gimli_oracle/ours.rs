//! Evaluates cases with hetdwarf.

use super::Case;
use super::world::{self, Kind, Stopped};
use hetdwarf::arch::{AddressSpace, CodeAddress, LoadAddress, Register};
use hetdwarf::error::{Error, Result, SpecRule};
use hetdwarf::eval::{
    BaseType, BaseTypeEncoding, Context, DieReference, ExpressionBytes, Frame, LaneFocus,
    LocationAttribute, LocationEntry, Outcome, Procedure, Reading, Resolver, ResultKind,
    Subprogram, Unit, Value, evaluate,
};
use hetdwarf::expr;
use hetdwarf::location::{Arena, LaneSelect, Location, Place, Storage};

pub fn encoding(address_size: u8) -> expr::Encoding {
    expr::Encoding {
        address_size,
        ..expr::Encoding::AMDGPU
    }
}

fn memory<'a>(address: u64) -> Location<'a> {
    let storage = Storage::Memory {
        space: AddressSpace::None,
        lane: LaneSelect::None,
    };
    Location::One(Place::new(storage, u128::from(address) * 8))
}

fn unit(case: &Case) -> Unit {
    Unit {
        id: 0,
        encoding: encoding(case.address_size),
    }
}

impl<'a> Resolver<'a> for &'a Case {
    fn procedure(&self, unit: Unit, die: DieReference) -> Result<Procedure<'a>> {
        let offset = match die {
            DieReference::InUnit(offset) => offset,
            DieReference::InSection(offset) => offset - super::UNIT as u64,
        };
        let case: &'a Case = self;
        let bytes = case.procedure(usize::try_from(offset).unwrap());
        Ok(bytes.map_or(Procedure::Nothing, |bytes| {
            let expression = ExpressionBytes::alone(bytes, unit);
            Procedure::Location(LocationAttribute::Expression(expression))
        }))
    }

    fn base_type(&self, _: Unit, offset: u64) -> Result<BaseType> {
        let ty = world::BaseType::at(offset).ok_or(Error::from(SpecRule::NotABaseType))?;
        let encoding = match ty.kind {
            Kind::Signed => BaseTypeEncoding::Signed,
            Kind::Unsigned => BaseTypeEncoding::Unsigned,
            Kind::Float => BaseTypeEncoding::Float,
        };
        Ok(BaseType::scalar(encoding, u32::from(ty.bytes) * 8))
    }

    fn address(&self, _: Unit, index: u64) -> Result<u64> {
        Ok(world::ADDRESSES[usize::try_from(index).unwrap()])
    }

    fn location_list(
        &self,
        _: Unit,
        _: u64,
        _: u64,
        _: &mut dyn FnMut(Option<LocationEntry<'a>>) -> Result<()>,
    ) -> Result<()> {
        panic!("no location list is generated")
    }
}

/// A frame whose registers are in the wave, or the caller's frame, whose registers were saved in memory.
struct CallFrame {
    is_caller: bool,
}

impl<'a> Frame<'a> for CallFrame {
    fn register(&self, register: Register) -> Result<Location<'a>> {
        Ok(if self.is_caller {
            memory(world::SAVE_AREA + 64 * u64::from(register.0))
        } else {
            Location::register(register)
        })
    }

    fn entry_register(&self, register: Register) -> Result<Location<'a>> {
        self.register(register)
    }

    fn cfa(&self) -> Result<Location<'a>> {
        Ok(memory(world::CFA + u64::from(self.is_caller) * 64))
    }

    fn with_caller(
        &self,
        visit: &mut dyn FnMut(&dyn Frame<'a>, u64) -> Result<()>,
    ) -> Result<bool> {
        assert!(!self.is_caller, "entry values are not nested");
        visit(&CallFrame { is_caller: true }, 0x40)?;
        Ok(true)
    }
}

/// Evaluates a case.
pub fn evaluate_case<'a>(
    case: &'a Case,
    kind: ResultKind,
    lane: LaneFocus,
    arena: &'a Arena<'a>,
) -> Result<Outcome<'a>> {
    let unit = unit(case);
    // The frame base is an expression that pushes FRAME_BASE. gimli gets the address itself.
    let frame_base = arena.keep([&[0x0e][..], &world::FRAME_BASE.to_le_bytes()].concat());
    let frame_base = LocationAttribute::Expression(ExpressionBytes::alone(frame_base, unit));
    let initial: Vec<Outcome<'a>> = case
        .initial
        .into_iter()
        .map(|value| Outcome::Value(Value::generic(value, u32::from(case.address_size) * 8)))
        .collect();
    let tls = |offset: u64| Ok(memory(world::tls(offset)));
    let frame = CallFrame { is_caller: false };
    let load_address = LoadAddress(world::LOAD_ADDRESS);
    let mut context = Context::new(arena)
        .with_wave(&Stopped)
        .with_lane(lane)
        .with_frame(&frame)
        .stopped_at(load_address.to_process(CodeAddress(0x80)), load_address)
        .with_resolver(&case)
        .with_subprogram(Subprogram {
            frame_base: Some(frame_base),
            ..Subprogram::default()
        })
        .with_object(Some(memory(world::OBJECT)))
        .with_initial_stack(&initial)
        .with_tls(&tls)
        .with_reading(if case.tolerant {
            Reading::Tolerant
        } else {
            Reading::Strict
        });
    context.limits.steps = 10 * super::STEPS;
    evaluate(&ExpressionBytes::alone(&case.bytes, unit), kind, &context)
}
