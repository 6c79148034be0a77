//! The parts of a value, each by itself: members, elements, and what pointers point to.
//!
//! How much is listed is bounded by the depth that was asked for, by the elements that are printed of an array, and by the
//! budgets of the document. Types of a damaged file may contain themselves; they end with the depth.

use serde::Serialize;

use crate::arch::{AddressSpace, Lane};
use crate::debug_info::type_name;
use crate::debug_info::types::{Dimension, Member, TypeId, TypeKind, TypeTable};
use crate::display::{self, Options, TypedBytes, shape};
use crate::error::Result;
use crate::eval::Reading;
use crate::inspect::{StopFrame, ValueState, ValueStateKind};
use crate::location::{Access, Bits, LaneSelect, Location, Place, Storage, read_within};
use crate::meter::Meter;
use crate::report::hex_bytes;
use crate::untrusted::Untrusted;

/// As how many bytes of output a part counts, besides its text: about what it takes in memory.
const PER_CHILD: u64 = 512;

/// The most bytes that are read where a pointer points.
const MOST_BYTES: u64 = 1 << 16;

/// A member or an element of a value, or what it points to.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ChildDocument {
    /// What follows the parent's name in an expression of C, without the dot of a member: `x`, `[3]`, `[1][2]`; `*` for
    /// what a pointer points to. Empty for an anonymous structure or union; `<Base>` for a base class.
    pub name: Untrusted<'static>,
    /// Its type's name.
    #[serde(rename = "type")]
    pub ty: Untrusted<'static>,
    /// As that of a variable in a lane.
    pub state: ValueStateKind,
    /// As a debugger of C prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// As in memory; of a bit-field its bits, from the lowest on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// Its own parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildDocument>,
    /// How many more elements it has.
    #[serde(skip_serializing_if = "is_none")]
    pub more_children: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(super) fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A value whose parts are listed.
pub(super) struct Value<'v> {
    pub(super) ty: TypeId,
    pub(super) bits: &'v Bits,
}

/// Lists the parts of values of a lane.
pub(super) struct Lister<'l, 's, 'p, 'a> {
    pub(super) frame: &'l StopFrame<'s, 'p, 'a>,
    pub(super) lane: Lane,
    pub(super) types: &'l TypeTable,
    pub(super) options: &'l Options,
    pub(super) meter: &'l Meter,
}

/// The parts of a value, and how many there are besides.
type Children = (Vec<ChildDocument>, u64);

impl Lister<'_, '_, '_, '_> {
    /// The parts of a value, `depth` levels of them.
    ///
    /// # Errors
    /// If there are more than a document can have.
    pub(super) fn children(&mut self, value: &Value<'_>, depth: u32) -> Result<Children> {
        let types = self.types;
        let Some(depth) = depth.checked_sub(1) else {
            return Ok((Vec::new(), 0));
        };
        let ty = shape::resolve(types, value.ty).ty;
        if let TypeKind::Record { members, .. } = &ty.kind {
            let children = members.iter().map(|m| self.member(value, m, depth));
            Ok((children.collect::<Result<_>>()?, 0))
        } else if let TypeKind::Array {
            element,
            dimensions,
            stride_in_bits,
            ..
        } = &ty.kind
        {
            self.elements(value, *element, dimensions, *stride_in_bits, depth)
        } else if let TypeKind::Pointer {
            target,
            address_space,
            ..
        } = &ty.kind
        {
            let pointee = self.pointee(value, *target, *address_space, depth)?;
            Ok((pointee.into_iter().collect(), 0))
        } else {
            Ok((Vec::new(), 0))
        }
    }

    fn member(&mut self, value: &Value<'_>, member: &Member, depth: u32) -> Result<ChildDocument> {
        let name = member.name.clone().unwrap_or_default();
        let name = if member.is_base {
            let base = shape::resolve(self.types, member.ty).ty.name.as_deref();
            let name = if name.is_empty() {
                base.unwrap_or_default()
            } else {
                &name
            };
            format!("<{name}>")
        } else {
            name
        };
        let size = member
            .bit_size
            .or_else(|| shape::size_in_bits(self.types, member.ty));
        let (Some(start), Some(size)) = (member.bit_offset, size) else {
            return self.without_value(name, member.ty, "its place or size is not a constant");
        };
        let bits = self.part(value, start, size)?;
        self.child(name, member.ty, &bits, member.bit_size, depth)
    }

    fn elements(
        &mut self,
        value: &Value<'_>,
        element: TypeId,
        dimensions: &[Dimension],
        stride: Option<u64>,
        depth: u32,
    ) -> Result<Children> {
        let size = shape::size_in_bits(self.types, element);
        let (Some(size), Some(count)) = (size, shape::elements(dimensions)) else {
            return Ok((Vec::new(), 0));
        };
        // Elements without bytes say nothing, and there can be any number of them.
        if size == 0 {
            return Ok((Vec::new(), count));
        }
        let stride = stride.unwrap_or(size);
        let shown = count.min(self.options.max_elements);
        let mut children = Vec::new();
        for number in 0..shown {
            let bits = self.part(value, number.saturating_mul(stride), size.min(stride))?;
            children.push(self.child(index(number, dimensions), element, &bits, None, depth)?);
        }
        Ok((children, count.saturating_sub(shown)))
    }

    /// The bits of a part, as many as are shown.
    fn part(&self, value: &Value<'_>, start: u64, size: u64) -> Result<Bits> {
        let size = size.min(MOST_BYTES.saturating_mul(8));
        // They are copied, and dropped when they are printed.
        self.meter
            .pass(usize::try_from(size.div_ceil(8)).unwrap_or(usize::MAX))?;
        Ok(value.bits.part(start, size))
    }

    /// What a pointer points to; nothing if it is null or has no target that could be read.
    fn pointee(
        &mut self,
        pointer: &Value<'_>,
        target: TypeId,
        space: AddressSpace,
        depth: u32,
    ) -> Result<Option<ChildDocument>> {
        let size = shape::size_in_bits(self.types, target).filter(|size| *size > 0);
        let bytes = &pointer.bits.bytes;
        let (Some(size), true) = (size, pointer.bits.is_complete() && bytes.len() <= 8) else {
            return Ok(None);
        };
        let byte = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        let address = bytes.iter().rev().fold(0, byte);
        if address == space.null() {
            return Ok(None);
        }
        let stop = self.frame.stop();
        // Compilers leave the space of generic pointers out; no global memory is in the apertures.
        let is_tolerant = stop.options().reading == Reading::Tolerant;
        let (space, lane) = match space {
            AddressSpace::None if is_tolerant => {
                (AddressSpace::Generic, LaneSelect::One(self.lane))
            }
            AddressSpace::Generic | AddressSpace::PrivateLane => {
                (space, LaneSelect::One(self.lane))
            }
            AddressSpace::None
            | AddressSpace::Region
            | AddressSpace::Local
            | AddressSpace::PrivateWave => (space, LaneSelect::None),
        };
        let storage = Storage::Memory { space, lane };
        let start = u128::from(address).saturating_mul(8);
        let location = Location::One(Place::new(storage, start));
        let access = Access {
            wave: stop.wave(),
            lane: Some(self.lane),
            max_bits: stop.limits().bits,
        };
        let size = size.min(MOST_BYTES.saturating_mul(8));
        let read = read_within(&location, size, &access, stop.meter());
        match read {
            Ok(bits) => self.child("*".to_owned(), target, &bits, None, depth),
            Err(error) => self.without_value("*".to_owned(), target, &error.to_string()),
        }
        .map(Some)
    }

    fn child(
        &mut self,
        name: String,
        ty: TypeId,
        bits: &Bits,
        bit_field: Option<u64>,
        depth: u32,
    ) -> Result<ChildDocument> {
        let state = ValueState::of_bits(bits).kind();
        let mut document = self.without_value(name, ty, "")?;
        document.state = state;
        document.message = None;
        if state == ValueStateKind::Unavailable {
            document.message = Some(super::NOT_SAID.into());
        }
        if !state.is_readable() {
            return Ok(document);
        }
        let value = TypedBytes {
            bytes: &bits.bytes,
            undefined: &bits.undefined,
            unavailable: &bits.unavailable,
        };
        let (types, options) = (self.types, self.options);
        let value = display::Value {
            table: types,
            id: ty,
            value: &value,
            pointees: &[],
            options,
        };
        let text = match bit_field {
            Some(size) => value.bit_field_text(size, self.meter),
            None => value.text(self.meter),
        };
        self.meter.answer(text.len() + bits.bytes.len() * 2)?;
        document.value = Some(text);
        document.bytes = Some(hex_bytes(&bits.bytes));
        let parts = self.children(&Value { ty, bits }, depth)?;
        (document.children, document.more_children) = parts;
        Ok(document)
    }

    /// A part of which it is said why there is no value.
    fn without_value(&mut self, name: String, ty: TypeId, message: &str) -> Result<ChildDocument> {
        let ty = type_name(self.types, ty);
        let length = name.len() + ty.len() + message.len();
        self.meter.hold(PER_CHILD)?;
        self.meter.answer(length)?;
        Ok(ChildDocument {
            name: name.into(),
            ty: ty.into(),
            state: ValueStateKind::Error,
            value: None,
            bytes: None,
            message: Some(message.to_owned().into()),
            children: Vec::new(),
            more_children: 0,
        })
    }
}

/// The indices of an element by its number in memory: the last dimension is the fastest.
fn index(number: u64, dimensions: &[Dimension]) -> String {
    let mut rest = number;
    let mut indices = Vec::new();
    for dimension in dimensions.iter().rev() {
        let count = dimension.count.unwrap_or(0).max(1);
        let (at, next) = (rest.checked_rem(count), rest.checked_div(count));
        let at = i128::from(at.unwrap_or(0)).saturating_add(dimension.lower_bound.into());
        indices.push(format!("[{at}]"));
        rest = next.unwrap_or(0);
    }
    indices.reverse();
    indices.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_index_is_the_fastest() {
        let dimension = |lower_bound, count| Dimension {
            lower_bound,
            count: Some(count),
        };
        let square = [dimension(0, 2), dimension(0, 3)];
        assert_eq!(index(4, &square), "[1][1]");
        assert_eq!(index(5, &square), "[1][2]");
        assert_eq!(index(1, &[dimension(-1, 3)]), "[0]");
        assert_eq!(index(0, &[dimension(0, 0)]), "[0]");
    }
}
