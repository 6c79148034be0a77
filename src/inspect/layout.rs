//! Variables whose types are laid out at run time: each lane may have its own bounds.
//!
//! Sources: DWARF 5 §2.19, §5.5, §5.7.6, §5.13; HET A.2.5.1 (the current object), A.5.7.3.

use super::context::VariableContext;
use super::stop::is_active;
use super::value::Contents;
use super::variable::{MOST_BYTES, Reader, is_undefined};
use crate::arch::Lane;
use crate::debug_info::types::{TypeId, TypeKind, TypeTable};
use crate::debug_info::{DieId, Layout, Question};
use crate::display::Pointee;
use crate::error::{Error, ErrorKind, Result};
use crate::eval::{
    BaseTypeEncoding, Context, LaneFocus, LocationAttribute, Outcome, ResultKind, evaluate, locate,
};
use crate::location::{Access, Bits, Location, Storage, read_value_within, read_within};

/// Types with the layouts of lanes, each layout once.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneTypes {
    layouts: Vec<(Layout, TypeId)>,
    /// The type in each lane.
    pub(super) lanes: Vec<TypeId>,
    /// What pointers without bits stand for, in each lane.
    pub(super) pointees: Vec<Vec<Pointee>>,
}

impl LaneTypes {
    fn add(&mut self, layout: Layout, make: impl FnOnce(&Layout) -> Result<TypeId>) -> Result<()> {
        let known = self.layouts.iter().find(|(known, _)| *known == layout);
        let id = match known {
            Some((_, id)) => *id,
            None => {
                let id = make(&layout)?;
                self.layouts.push((layout, id));
                id
            }
        };
        self.lanes.push(id);
        Ok(())
    }

    /// Whether all lanes have the variable's own type, and no pointer without bits.
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.pointees.is_empty()
    }

    /// What pointers without bits stand for in a lane.
    pub(super) fn pointees(&self, lane: Lane) -> &[Pointee] {
        self.pointees
            .get(usize::from(lane.0))
            .map_or(&[], Vec::as_slice)
    }

    /// The type, if it is the same in all lanes that were looked at.
    pub(super) fn common(&self) -> Option<TypeId> {
        match self.layouts.as_slice() {
            [(_, id)] => Some(*id),
            _ => None,
        }
    }
}

/// Whether members of a structure, or of one under another name, are where an expression says.
pub(super) fn has_moving_members(types: &TypeTable, ty: TypeId) -> bool {
    let mut next = ty;
    // Qualifiers and typedefs may be of each other.
    for _ in 0..64 {
        let kind = &types.get(next).kind;
        if let TypeKind::Typedef(target) | TypeKind::Qualified(_, target) = kind {
            next = *target;
            continue;
        }
        let TypeKind::Record { members, .. } = kind else {
            return false;
        };
        return members.iter().any(|member| member.bit_offset.is_none());
    }
    false
}

/// Whether a type is a vector whose elements have one byte, or another name for one.
pub(super) fn is_vector_of_bytes(types: &TypeTable, ty: TypeId) -> bool {
    matches!(
        &types.get(named(types, ty)).kind,
        TypeKind::Array { element, vector: true, .. } if types.get(*element).byte_size == Some(1)
    )
}

/// Returns true if a type is a truth value of one byte, or a vector of one.
pub(super) fn is_truth_value(types: &TypeTable, ty: TypeId) -> bool {
    let mut kind = &types.get(named(types, ty)).kind;
    if let TypeKind::Array {
        element,
        vector: true,
        ..
    } = kind
        && types.get(ty).byte_size == Some(1)
    {
        kind = &types.get(named(types, *element)).kind;
    }
    matches!(
        kind,
        TypeKind::Base(base)
            if (base.encoding, base.bit_size, base.elements) == (BaseTypeEncoding::Boolean, 8, 1)
    )
}

/// Returns true if a type is a structure, class or union.
pub(super) fn is_class(types: &TypeTable, ty: TypeId) -> bool {
    matches!(types.get(named(types, ty)).kind, TypeKind::Record { .. })
}

/// The type that names and qualifiers stand for, as far as 64 of them tell.
fn named(types: &TypeTable, ty: TypeId) -> TypeId {
    let mut next = ty;
    for _ in 0..64 {
        let (TypeKind::Typedef(target) | TypeKind::Qualified(_, target)) = types.get(next).kind
        else {
            break;
        };
        next = target;
    }
    next
}

impl<'p> Reader<'_, '_, 'p, '_> {
    /// Reads a variable lane by lane, with the layout that its type has in the lane.
    pub(super) fn fetch_laid_out(
        &self,
        (ty, known): (DieId, TypeId),
        attribute: &LocationAttribute<'p>,
        within: &VariableContext<'_, 'p, '_>,
        types: &mut TypeTable,
        lane_types: &mut LaneTypes,
    ) -> Result<Contents<'p>> {
        let mut lanes = Vec::new();
        // A layout for which nothing has to be asked is that of all lanes.
        let mut fixed = None;
        for lane in self.frame.stop.wave().wave_size().all_lanes() {
            let context = Context {
                lane: LaneFocus::One(lane),
                ..within.context
            };
            // What a lane that does not execute holds as a bound may be anything.
            let found = if is_active(self.exec, lane) {
                self.lay_out(
                    ty,
                    attribute,
                    &VariableContext { context, ..*within },
                    &mut fixed,
                )
            } else {
                Err(ErrorKind::UndefinedRead.into())
            };
            let read = found.and_then(|(layout, location)| {
                let bits = self.read_laid_out(&layout, &location, lane)?;
                let info = self.frame.stop.program().info();
                let meter = self.frame.stop.meter();
                lane_types.add(layout, |layout| info.type_with(types, layout, meter))?;
                Ok((bits, location))
            });
            if read.is_err() {
                lane_types.lanes.push(known);
            }
            lanes.push(read);
        }
        Ok(Contents::Each(lanes))
    }

    /// The layout and the place of an object in the lane in focus; `fixed` is the layout of all lanes, once it is known
    /// that there is one.
    fn lay_out(
        &self,
        ty: DieId,
        attribute: &LocationAttribute<'p>,
        within: &VariableContext<'_, 'p, '_>,
        fixed: &mut Option<Result<Option<Layout>>>,
    ) -> Result<(Layout, Location<'p>)> {
        let info = self.frame.stop.program().info();
        let location = locate(attribute, &within.context)?;
        let context = Context {
            object: Some(location),
            ..within.context
        };
        let within = VariableContext { context, ..*within };
        let layout = match fixed {
            Some(known) => known.clone(),
            None => {
                let mut is_fixed = true;
                let found = info.layout(ty, self.frame.stop.meter(), &mut |question| {
                    is_fixed = false;
                    self.answer(question, &within)
                });
                if is_fixed {
                    *fixed = Some(found.clone());
                }
                found
            }
        };
        let layout = layout?.ok_or_else(|| Error::malformed("variable", "its type has no size"))?;
        Ok((layout, location))
    }

    fn read_laid_out(&self, layout: &Layout, location: &Location<'p>, lane: Lane) -> Result<Bits> {
        let stop = self.frame.stop;
        let bit_size = layout.byte_size.min(MOST_BYTES).saturating_mul(8);
        self.keep(bit_size, 1)?;
        let access = Access {
            wave: stop.wave(),
            lane: Some(lane),
            max_bits: stop.limits().bits,
        };
        let location = self.bounded(*location, bit_size, Some(lane))?;
        read_within(&location, bit_size, &access, stop.meter())
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

    /// The number that a variable holds in the lane in focus.
    fn number_in(&self, entry: DieId, within: &VariableContext<'_, 'p, '_>) -> Result<i128> {
        let stop = self.frame.stop;
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
        // Not negative, as it was read; the sign is that of the variable's type.
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

    /// The number of so many bytes, without a sign, that is at a location in the lane in focus.
    fn number_at(
        &self,
        attribute: &LocationAttribute<'p>,
        byte_size: u64,
        within: &VariableContext<'_, 'p, '_>,
    ) -> Result<i128> {
        let stop = self.frame.stop;
        let location = locate(&within.rewrite_legacy(*attribute)?, &within.context)?;
        if is_undefined(&location) {
            return Err(ErrorKind::UndefinedRead.into());
        }
        let bit_size = u32::try_from(byte_size.saturating_mul(8)).unwrap_or(u32::MAX);
        if bit_size > 64 {
            return Err(ErrorKind::Unsupported("a bound of more than 8 bytes").into());
        }
        let access = Access {
            wave: stop.wave(),
            lane: match within.context.lane {
                LaneFocus::One(lane) => Some(lane),
                LaneFocus::None | LaneFocus::All => None,
            },
            max_bits: 64,
        };
        let bits = read_value_within(&location, bit_size, &access, stop.meter())?;
        Ok(bits.cast_signed())
    }
}

/// How many bits after `object` a member is, in the same storage.
fn distance(object: &Location<'_>, member: &Location<'_>) -> Result<i128> {
    let elsewhere = || Error::from(ErrorKind::Unsupported("a member outside of its object"));
    let (Some(from), Some(to)) = (object.single(), member.single()) else {
        return Err(elsewhere());
    };
    let same = match (from.storage, to.storage) {
        // Which lane made the place does not matter: both were made for the one in focus.
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
