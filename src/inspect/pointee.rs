//! Formats pointers that were optimized away, but whose targets are known (`DW_OP_implicit_pointer`).
//!
//! Such a pointer has no bits. It is shown by its target, which is evaluated in the lane: `(int *) → 42`. Sources: DWARF 5 §2.6.1.1.4; HET
//! A.2.5.4.4.5.

use super::context::{FrameContext, VariableContext};
use super::layout::LaneTypes;
use super::stop::is_active;
use super::value::Contents;
use super::variable::{Reader, bits_within, pay_for_bits};
use crate::arch::Lane;
use crate::debug_info::UnitId;
use crate::debug_info::types::{TypeId, TypeKind, TypeTable};
use crate::display::{self, Options, Pointee, TypedBytes};
use crate::error::{ErrorKind, Result, SpecRule};
use crate::eval::{
    Context, DieReference, LaneFocus, LocationAttribute, Procedure, Resolver, locate,
};
use crate::location::{ImplicitPointer, Location, Place, Storage, read};

/// The maximum number of pointers followed in a chain, which may be circular.
const DEPTH: u32 = 8;

/// The maximum number of parts of a composite searched for pointers.
const PARTS: usize = 1024;

/// The maximum number of type levels between a structure and a pointer in it.
const NESTING: usize = 64;

impl<'p, 'a> Reader<'_, '_, 'p, 'a> {
    /// Adds the targets of pointers without bits, in each executing lane.
    pub(super) fn follow_pointers(
        &self,
        contents: &Contents<'p>,
        ty: TypeId,
        frame_context: &FrameContext<'_, 'p, 'a>,
        types: &TypeTable,
        lane_types: &mut LaneTypes,
    ) {
        let has_pointer = match contents {
            Contents::Lanes { location, .. } => has_pointer(location),
            Contents::Each(lanes) => {
                let mut lanes = lanes.iter().flatten();
                lanes.any(|(_, location)| has_pointer(location))
            }
            Contents::None | Contents::Constant(_) | Contents::Failed(_) => false,
        };
        // Hardly any variable has one.
        if !has_pointer {
            return;
        }
        let lanes = self.frame.stop.wave().wave_size().all_lanes();
        let pointees: Vec<Vec<Pointee>> = lanes
            .map(|lane| {
                let location = contents.location(lane);
                match location.filter(|_| is_active(self.exec, lane)) {
                    Some(location) => frame_context.pointees((&location, ty), lane, types),
                    None => Vec::new(),
                }
            })
            .collect();
        if pointees.iter().any(|lane| !lane.is_empty()) {
            lane_types.pointees = pointees;
        }
    }
}

impl<'p> FrameContext<'_, 'p, '_> {
    /// Returns the targets of pointers without bits in an object of type `ty` at a location.
    pub(crate) fn pointees(
        &self,
        object: (&Location<'p>, TypeId),
        lane: Lane,
        types: &TypeTable,
    ) -> Vec<Pointee> {
        self.pointees_within(object, lane, types, DEPTH)
    }

    fn pointees_within(
        &self,
        (location, ty): (&Location<'p>, TypeId),
        lane: Lane,
        types: &TypeTable,
        depth: u32,
    ) -> Vec<Pointee> {
        let found = implicit_pointers(location);
        let text = |(bit_offset, pointer)| {
            let target = pointer_target(types, ty, bit_offset)?;
            let text = self.pointee((pointer, target), lane, types, depth);
            Some(Pointee {
                bit_offset,
                text: text.unwrap_or_else(|error| format!("<{error}>")),
            })
        };
        found.into_iter().filter_map(text).collect()
    }

    /// Returns the text for the target, of type `target`, of a pointer.
    fn pointee(
        &self,
        (pointer, target): (&ImplicitPointer, TypeId),
        lane: Lane,
        types: &TypeTable,
        depth: u32,
    ) -> Result<String> {
        let Some(depth) = depth.checked_sub(1) else {
            return Ok("...".to_owned());
        };
        let location = self.follow(pointer, lane)?;
        let size = types.get(target).byte_size.unwrap_or(0);
        let stop = self.stop();
        let bit_size = bits_within(stop.limits(), size.saturating_mul(8));
        pay_for_bits(bit_size, stop.meter())?;
        let bits = read(&location, bit_size, &stop.access(Some(lane)))?;
        let pointees = self.pointees_within((&location, target), lane, types, depth);
        let value = TypedBytes::of(&bits);
        let options = Options {
            max_chars: 4096,
            ..Options::default()
        };
        let value = display::Value {
            table: types,
            id: target,
            value: &value,
            pointees: &pointees,
            options: &options,
        };
        let text = value.text(stop.meter());
        pay_for_bits(text.len() as u64 * 8, stop.meter())?;
        Ok(text)
    }

    /// Returns the location of a pointer's target in a lane.
    ///
    /// # Errors
    /// If it has no location.
    pub(crate) fn follow(&self, pointer: &ImplicitPointer, lane: Lane) -> Result<Location<'p>> {
        let within = self.of_variables();
        let context = Context {
            lane: LaneFocus::One(lane),
            object: None,
            initial_stack: &[],
            ..within.context
        };
        let within = VariableContext { context, ..within };
        let stop = self.stop();
        let unit = stop.program().info().eval_unit(UnitId(pointer.unit))?;
        let resolver: Option<&dyn Resolver<'p>> = within.context.resolver;
        let entry = DieReference::InSection(pointer.entry);
        let location = match resolver.map(|resolver| resolver.procedure(unit, entry)) {
            Some(Ok(Procedure::Location(attribute))) => {
                let rewritten: LocationAttribute<'p> = within.rewrite_legacy(attribute)?;
                locate(&rewritten, &within.context)?
            }
            Some(Ok(Procedure::Constant(bytes))) => {
                Location::One(Place::new(Storage::Constant(bytes), 0))
            }
            Some(Ok(Procedure::Nothing)) | None => {
                return Err(SpecRule::ImplicitPointerTarget.into());
            }
            Some(Err(error)) => return Err(error),
        };
        let bits = i128::from(pointer.byte_offset)
            .checked_mul(8)
            .ok_or(ErrorKind::UndefinedRead)?;
        location.offset_by_bits(bits, stop.arena())
    }
}

/// Returns true if a location is a pointer without bits, or has one among its parts.
fn has_pointer(location: &Location<'_>) -> bool {
    may_have_pointer(location) && !implicit_pointers(location).is_empty()
}

/// Returns the unit of the first pointer without bits at a location.
pub(crate) fn implicit_unit(location: &Location<'_>) -> Option<UnitId> {
    if !may_have_pointer(location) {
        return None;
    }
    let pointers = implicit_pointers(location);
    let (_, pointer) = pointers.first()?;
    Some(UnitId(pointer.unit))
}

/// Returns the pointer without bits, if the location is one.
pub(crate) fn implicit_pointer<'p>(location: &Location<'p>) -> Option<&'p ImplicitPointer> {
    if !may_have_pointer(location) {
        return None;
    }
    let pointers = implicit_pointers(location).into_iter();
    let mut first = pointers.filter(|(start, _)| *start == 0);
    first.next().map(|(_, pointer)| pointer)
}

/// Returns true if a location is an implicit pointer, or may have one among its parts.
fn may_have_pointer(location: &Location<'_>) -> bool {
    location.single().is_some_and(|place| {
        matches!(
            place.storage,
            Storage::ImplicitPointer(_) | Storage::Composite(_)
        )
    })
}

/// Returns the complete implicit pointers in a location, and their bit offsets.
fn implicit_pointers<'p>(location: &Location<'p>) -> Vec<(u64, &'p ImplicitPointer)> {
    let mut found = Vec::new();
    let mut waiting = vec![(0u128, *location)];
    let mut left = PARTS;
    while let Some((start, location)) = waiting.pop() {
        let Some(place) = location.single() else {
            continue;
        };
        if let Storage::ImplicitPointer(pointer) = place.storage
            && place.bit_offset == 0
            && let Ok(start) = u64::try_from(start)
        {
            found.push((start, pointer));
        }
        if let Storage::Composite(composite) = place.storage
            && !composite.is_repeated()
        {
            for part in composite.parts().take(left) {
                left -= 1;
                let within = part.start.checked_sub(place.bit_offset);
                if let Some(at) = within.and_then(|within| start.checked_add(within)) {
                    waiting.push((at, part.location));
                }
            }
        }
    }
    found.sort_by_key(|(start, _)| *start);
    found
}

/// Returns the target type of the pointer at `bit_offset` bits in an object of type `ty`, if there is one.
fn pointer_target(types: &TypeTable, ty: TypeId, bit_offset: u64) -> Option<TypeId> {
    let (mut next, mut within) = (ty, bit_offset);
    for _ in 0..NESTING {
        match &types.get(next).kind {
            TypeKind::Typedef(target) | TypeKind::Qualified(_, target) => next = *target,
            TypeKind::Pointer { target, .. } => return (within == 0).then_some(*target),
            TypeKind::Array {
                element,
                stride_in_bits,
                ..
            } => {
                let size = types.get(*element).byte_size;
                let stride = stride_in_bits.or(size?.checked_mul(8))?;
                (next, within) = (*element, within.checked_rem(stride)?);
            }
            TypeKind::Record { members, .. } => {
                let holds = |start: u64, ty: TypeId| {
                    let size = types.get(ty).byte_size.unwrap_or(0).saturating_mul(8);
                    (start..start.saturating_add(size)).contains(&within)
                };
                let mut members = members.iter();
                let (start, ty) = members.find_map(|member| {
                    let start = member.bit_offset?;
                    holds(start, member.ty).then_some((start, member.ty))
                })?;
                (next, within) = (ty, within.checked_sub(start)?);
            }
            TypeKind::Void
            | TypeKind::Base(_)
            | TypeKind::Represented { .. }
            | TypeKind::Variants { .. }
            | TypeKind::Enumeration { .. }
            | TypeKind::Function { .. }
            | TypeKind::MemberPointer { .. }
            | TypeKind::Unspecified
            | TypeKind::Unsupported(_) => return None,
        }
    }
    None
}
