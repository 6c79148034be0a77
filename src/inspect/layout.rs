//! Lays out types whose bounds or member offsets are computed at run time, possibly different in each lane.
//!
//! Sources: DWARF 5 §2.19, §5.5, §5.7.6, §5.13; HET A.2.5.1 (the current object), A.5.7.3.

use super::context::{FrameContext, VariableContext};
use super::stop::is_active;
use super::value::Contents;
use super::variable::{Reader, bits_within, is_undefined};
use crate::arch::Lane;
use crate::debug_info::types::{TypeId, TypeKind, TypeTable};
use crate::debug_info::{DieId, Question};
use crate::display::{Pointee, shape};
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{
    BaseTypeEncoding, Context, ExpressionBytes, LaneFocus, LocationAttribute, Outcome, Reading,
    ResultKind, Unit, evaluate, locate,
};
use crate::expr::{Builder, Operation, operations};
use crate::location::{Access, Arena, Bits, Location, Storage, read, read_value};
use fallible_iterator::FallibleIterator;
use gimli::constants::DW_OP_plus;

/// The type of a variable in each lane, if it is laid out at run time.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneTypes {
    /// The type in each lane.
    pub(super) lanes: Vec<TypeId>,
    /// The targets of implicit pointers in each lane.
    pub(super) pointees: Vec<Vec<Pointee>>,
    /// The common type of all lanes that have one, if it is the same.
    common: Option<TypeId>,
    is_varied: bool,
}

impl LaneTypes {
    /// Adds the next lane's type.
    fn add(&mut self, ty: TypeId) {
        self.is_varied |= self.common.is_some_and(|common| common != ty);
        self.common = Some(ty);
        self.lanes.push(ty);
    }

    /// Returns true if all lanes have the variable's own type, and no pointer without bits.
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.pointees.is_empty()
    }

    /// Returns the targets of the value's implicit pointers in a lane.
    pub(super) fn pointees(&self, lane: Lane) -> &[Pointee] {
        self.pointees
            .get(usize::from(lane.0))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the type, if it is the same in all examined lanes.
    pub(super) fn common(&self) -> Option<TypeId> {
        self.common.filter(|_| !self.is_varied)
    }
}

/// Returns true if a type, or its alias target, is a vector whose elements have one byte.
pub(super) fn is_vector_of_bytes(types: &TypeTable, ty: TypeId) -> bool {
    matches!(
        &shape::resolve(types, ty).ty.kind,
        TypeKind::Array { element, vector: true, .. } if types.get(*element).byte_size == Some(1)
    )
}

/// Returns true if a type is a boolean of one byte, or a vector of one.
pub(super) fn is_truth_value(types: &TypeTable, ty: TypeId) -> bool {
    let mut kind = &shape::resolve(types, ty).ty.kind;
    if let TypeKind::Array {
        element,
        vector: true,
        ..
    } = kind
        && types.get(ty).byte_size == Some(1)
    {
        kind = &shape::resolve(types, *element).ty.kind;
    }
    matches!(
        kind,
        TypeKind::Base(base)
            if (base.encoding, base.bit_size, base.elements) == (BaseTypeEncoding::Boolean, 8, 1)
    )
}

/// Returns true if a type is an array of unknown length even at run time: `extern int e[]`.
pub(crate) fn is_open_array(types: &mut TypeTable, ty: TypeId) -> bool {
    let TypeKind::Array { dimensions, .. } = &shape::resolve(types, ty).ty.kind else {
        return false;
    };
    shape::elements(dimensions).is_none() && types.unit_of_computed(ty).is_none()
}

/// Returns true if a type is a structure, class or union.
pub(super) fn is_class(types: &TypeTable, ty: TypeId) -> bool {
    matches!(shape::resolve(types, ty).ty.kind, TypeKind::Record { .. })
}

/// The maximum nesting of parts with a run-time layout.
const DEPTH: u32 = 32;

impl<'p, 'a> Reader<'_, '_, 'p, 'a> {
    /// Reads a variable lane by lane, with the layout of its type in the lane.
    pub(super) fn fetch_laid_out(
        &self,
        ty: TypeId,
        attribute: &LocationAttribute<'p>,
        frame_context: &FrameContext<'_, 'p, 'a>,
        types: &mut TypeTable,
        lane_types: &mut LaneTypes,
    ) -> Result<Contents<'p>> {
        let within = frame_context.of_variables();
        let mut lanes = Vec::new();
        for lane in self.frame.stop.wave().wave_size().all_lanes() {
            let context = Context {
                lane: LaneFocus::One(lane),
                ..within.context
            };
            // In an inactive lane, a bound may have any value.
            let read = match is_active(self.exec, lane) {
                true => locate(attribute, &context).and_then(|location| {
                    let id = frame_context.laid_out(ty, &location, lane, types)?;
                    let bits = self.read_laid_out(id, &location, lane, types)?;
                    Ok((id, bits, location))
                }),
                false => Err(ErrorKind::UndefinedRead.into()),
            };
            lanes.push(match read {
                Ok((id, bits, location)) => {
                    lane_types.add(id);
                    Ok((bits, location))
                }
                Err(error) => {
                    lane_types.lanes.push(ty);
                    Err(error)
                }
            });
        }
        Ok(Contents::Each(lanes))
    }

    fn read_laid_out(
        &self,
        ty: TypeId,
        location: &Location<'p>,
        lane: Lane,
        types: &TypeTable,
    ) -> Result<Bits> {
        let no_size = || Error::malformed("variable", "its type has no size");
        let byte_size = types.get(ty).byte_size.ok_or_else(no_size)?;
        let stop = self.frame.stop;
        let full = byte_size.saturating_mul(8);
        let bit_size = bits_within(stop.limits(), full);
        self.keep(bit_size, 1)?;
        let location = self.bounded(*location, bit_size, Some(lane))?;
        let mut bits = read(&location, bit_size, &stop.access(Some(lane)))?;
        bits.extend_unavailable(full);
        Ok(bits)
    }
}

impl<'p> FrameContext<'_, 'p, '_> {
    /// Returns the type of an object of type `ty` at a location in a lane. It is the type itself, or one with evaluated array bounds and member
    /// offsets, also in its members.
    ///
    /// # Errors
    /// If an expression in the type cannot be evaluated.
    pub(crate) fn laid_out(
        &self,
        ty: TypeId,
        location: &Location<'p>,
        lane: Lane,
        types: &mut TypeTable,
    ) -> Result<TypeId> {
        self.laid_out_within(ty, location, lane, types, DEPTH)
    }

    fn laid_out_within(
        &self,
        ty: TypeId,
        location: &Location<'p>,
        lane: Lane,
        types: &mut TypeTable,
        depth: u32,
    ) -> Result<TypeId> {
        let meter = self.stop().meter();
        meter.work(1)?;
        let (Some(_), Some(depth)) = (types.unit_of_computed(ty), depth.checked_sub(1)) else {
            return Ok(ty);
        };
        let mut found = types.get(ty).clone();
        if let TypeKind::Typedef(target) | TypeKind::Qualified(_, target) = &mut found.kind {
            *target = self.laid_out_within(*target, location, lane, types, depth)?;
            found.byte_size = types.get(*target).byte_size;
            return Ok(types.add_derived(ty, found));
        }
        let id = match types.computed_entry(ty) {
            Some(entry) => self.laid_out_by(entry, location, lane, types)?,
            None => ty,
        };
        let mut found = types.get(id).clone();
        let TypeKind::Record { members, .. } = &mut found.kind else {
            return Ok(id);
        };
        let mut has_other = false;
        for member in members {
            let start = member
                .bit_offset
                .filter(|_| types.unit_of_computed(member.ty).is_some());
            let Some(start) = start else { continue };
            let Ok(place) = location.offset_by_bits(start.into(), self.stop().arena()) else {
                continue;
            };
            // A member without a layout does not affect the others.
            match self.laid_out_within(member.ty, &place, lane, types, depth) {
                Ok(laid_out) => {
                    has_other |= laid_out != member.ty;
                    member.ty = laid_out;
                }
                Err(error) if error.is_limit() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(match has_other {
            true => types.add_derived(id, found),
            false => id,
        })
    }

    /// Returns the type of an entry whose own layout is evaluated at a location in a lane.
    fn laid_out_by(
        &self,
        entry: DieId,
        location: &Location<'p>,
        lane: Lane,
        types: &mut TypeTable,
    ) -> Result<TypeId> {
        let within = self.of_variables();
        let context = Context {
            lane: LaneFocus::One(lane),
            object: Some(*location),
            ..within.context
        };
        let within = VariableContext { context, ..within };
        let (info, meter) = (self.stop().program().info(), self.stop().meter());
        let layout = info.layout(entry, meter, &mut |question| self.answer(question, &within))?;
        let layout = layout.ok_or_else(|| Error::malformed("type", "it has no size"))?;
        info.type_with(types, &layout, meter)
    }

    fn answer(&self, question: Question<'p>, within: &VariableContext<'_, 'p, '_>) -> Result<i128> {
        match question {
            Question::Variable(entry) => self.number_in(entry, within),
            Question::Value(expression) => {
                match evaluate(&expression, ResultKind::Value, &within.context)? {
                    Outcome::Value(value) => value.to_signed(),
                    Outcome::Location(_) => Err(ErrorKind::UndefinedRead.into()),
                }
            }
            Question::Stored(location, byte_size) => self.number_at(&location, byte_size, within),
            Question::Member(expression) => {
                let object = within.context.object.unwrap_or(Location::UNDEFINED);
                let expression = match self.stop().options().reading {
                    Reading::Strict => expression,
                    Reading::Tolerant => in_any_storage(expression, self.stop().arena()),
                };
                let context = Context {
                    initial_stack: &[Outcome::Location(object)],
                    ..within.context
                };
                match evaluate(&expression, ResultKind::Location, &context)? {
                    Outcome::Location(member) => distance(&object, &member),
                    Outcome::Value(_) => Err(ErrorKind::UndefinedRead.into()),
                }
            }
        }
    }

    /// Returns the number in a variable, in the lane in focus.
    fn number_in(&self, entry: DieId, within: &VariableContext<'_, 'p, '_>) -> Result<i128> {
        let stop = self.stop();
        let variable = stop.program().info().number_variable(entry)?;
        let Some(attribute) = variable.location else {
            let optimized_out = || Error::from(ErrorKind::UndefinedRead);
            return variable.constant.ok_or_else(optimized_out);
        };
        let context = Context {
            object: None,
            ..within.context
        };
        let within = &VariableContext { context, ..*within };
        let bits = self.number_at(&attribute, variable.byte_size, within)?;
        // It was read as unsigned; the variable's type determines the sign.
        let unused = u32::try_from(variable.byte_size.saturating_mul(8)).unwrap_or(128);
        let unused = 128u32.saturating_sub(unused);
        Ok(if variable.is_signed {
            bits.cast_unsigned()
                .checked_shl(unused)
                .unwrap_or(0)
                .cast_signed()
                >> unused.min(127)
        } else {
            bits
        })
    }

    /// Returns the unsigned number of this many bytes at a location, in the lane in focus.
    fn number_at(
        &self,
        attribute: &LocationAttribute<'p>,
        byte_size: u64,
        within: &VariableContext<'_, 'p, '_>,
    ) -> Result<i128> {
        let stop = self.stop();
        let location = locate(&within.rewrite_legacy(*attribute)?, &within.context)?;
        if is_undefined(&location) {
            return Err(ErrorKind::UndefinedRead.into());
        }
        let bit_size = u32::try_from(byte_size.saturating_mul(8)).unwrap_or(u32::MAX);
        if bit_size > 64 {
            return Err(ErrorKind::Unsupported("a bound of more than 8 bytes").into());
        }
        let access = Access {
            max_bits: 64,
            ..stop.access(match within.context.lane {
                LaneFocus::One(lane) => Some(lane),
                LaneFocus::None | LaneFocus::All => None,
            })
        };
        let bits = read_value(&location, bit_size, &access)?;
        Ok(bits.cast_signed())
    }
}

/// Returns the location of a member whose object may be in any storage. Compilers add the distance to the address with `DW_OP_plus`, which takes only
/// an address in the default address space. `DW_OP_LLVM_offset` gives the same location there, and takes any location, such as one in the private
/// memory of a lane. Source: HET 2.4.
fn in_any_storage<'p>(
    expression: ExpressionBytes<'p>,
    arena: &'p Arena<'p>,
) -> ExpressionBytes<'p> {
    /// The longest expression that is rewritten, in bytes. Compilers write eight.
    const LONGEST: usize = 64;
    if expression.bytes.len() > LONGEST || !expression.bytes.ends_with(&[DW_OP_plus.0]) {
        return expression;
    }
    let unit = Unit {
        encoding: expression.unit.encoding.in_memory(),
        ..expression.unit
    };
    let rewritten = || {
        let items: Vec<_> = operations(expression.bytes, expression.unit.encoding).collect()?;
        let mut builder = Builder::with_initial_stack(unit.encoding, 1);
        let last = items.len().checked_sub(1);
        for (number, item) in items.iter().enumerate() {
            builder.push(match (item.operation, Some(number) == last) {
                (Operation::Plus, true) => Operation::Offset,
                (operation, _) => operation,
            })?;
        }
        builder.finish()
    };
    // An expression that cannot be rewritten is evaluated unchanged, and reports its own error.
    rewritten().map_or(expression, |bytes| ExpressionBytes {
        bytes: arena.keep(&bytes),
        unit,
        ..expression
    })
}

/// Returns the distance in bits from `object` to a member, in the same storage.
fn distance(object: &Location<'_>, member: &Location<'_>) -> Result<i128> {
    let elsewhere = || Error::from(ErrorKind::Unsupported("a member outside of its object"));
    let (Some(from), Some(to)) = (object.single(), member.single()) else {
        return Err(elsewhere());
    };
    let same = match (from.storage, to.storage) {
        // The lane of the place does not matter, since both are for the lane in focus.
        (Storage::Memory { space: one, .. }, Storage::Memory { space: other, .. }) => one == other,
        (one, other) => one == other,
    };
    let offset = |place: u128| i128::try_from(place).map_err(|_| elsewhere());
    if !same {
        return Err(elsewhere());
    }
    offset(to.bit_offset)?
        .checked_sub(offset(from.bit_offset)?)
        .ok_or_else(elsewhere)
}
