//! Enumerates the parts of a value: members, elements, the contents of a variant, and the target of a pointer.

use core::ops::Range;

use super::{NoValue, Node, Tree};
use crate::debug_info::types::{Dimension, Member, TypeId, TypeKind, TypeTable};
use crate::display::{self, Present, TypedBytes, shape};
use crate::error::Result;
use crate::location::Bits;

/// A part of a value.
#[derive(Debug)]
pub(crate) struct Child<'p> {
    /// The text after the parent's name in a C expression, without the dot of a member: `x`, `[3]`, `*`. It is empty for an anonymous structure or
    /// union, and `<Base>` for a base class.
    pub(crate) name: String,
    /// The type, even if it cannot be read.
    pub(crate) ty: TypeId,
    pub(crate) node: Result<Node<'p>, NoValue>,
}

/// Receives a part of a value.
type Visit<'v, 'p> = &'v mut dyn FnMut(Child<'p>, &mut TypeTable) -> Result<()>;

impl<'p> Tree<'_, 'p, '_> {
    /// Visits the parts of a value, for an array only the requested ones. Returns the number of parts after them.
    ///
    /// * `bits`: the bits of the value.
    /// * `wanted`: the requested elements, by their position in memory.
    ///
    /// # Errors
    /// If `visit` fails, or the cost of the parts exceeds the limit.
    pub(crate) fn children(
        &self,
        node: &Node<'p>,
        bits: &Bits,
        types: &mut TypeTable,
        wanted: &Range<u64>,
        visit: Visit<'_, 'p>,
    ) -> Result<u64> {
        let ty = shape::resolve(types, node.ty).ty;
        match &ty.kind {
            TypeKind::Record { members, .. } => {
                let meter = self.frame.stop().meter();
                meter.charge_bytes(members.len() * size_of::<Member>())?;
                let present = display::present(types, members, &TypedBytes::of(bits), meter);
                for part in present {
                    visit(self.present(node, part, types), types)?;
                }
                Ok(0)
            }
            TypeKind::Array {
                element,
                dimensions,
                stride_in_bits,
                ..
            } => {
                let dimensions = dimensions.clone();
                let place = (*element, *stride_in_bits);
                self.elements(node, place, &dimensions, types, wanted, visit)
            }
            TypeKind::Pointer { .. } => {
                if let Some((ty, node)) = self.target(node, types) {
                    let name = "*".to_owned();
                    visit(Child { name, ty, node }, types)?;
                }
                Ok(0)
            }
            TypeKind::Void
            | TypeKind::Base(_)
            | TypeKind::Represented { .. }
            | TypeKind::Variants { .. }
            | TypeKind::Enumeration { .. }
            | TypeKind::Typedef(_)
            | TypeKind::Qualified(..)
            | TypeKind::Function { .. }
            | TypeKind::MemberPointer { .. }
            | TypeKind::Unspecified
            | TypeKind::Unsupported(_) => Ok(0),
        }
    }

    /// Visits a present part of a record.
    fn present(&self, node: &Node<'p>, part: Present, types: &mut TypeTable) -> Child<'p> {
        let (name, member) = match part {
            Present::Member(member) => (name_of(&member, types), member),
            Present::Variant { name, payload } => (name, payload),
            Present::Unknown(why) => {
                return Child {
                    name: String::new(),
                    ty: types.void(),
                    node: Err(NoValue::NoVariant(why)),
                };
            }
        };
        let node = self.member(node, &member, types);
        Child {
            name,
            ty: node.as_ref().map_or(member.ty, |node| node.ty),
            node,
        }
    }

    fn elements(
        &self,
        node: &Node<'p>,
        (element, stride): (TypeId, Option<u64>),
        dimensions: &[Dimension],
        types: &mut TypeTable,
        wanted: &Range<u64>,
        visit: Visit<'_, 'p>,
    ) -> Result<u64> {
        let size = shape::size_in_bits(types, element);
        let (Some(size), Some(count)) = (size, shape::elements(dimensions)) else {
            return Ok(0);
        };
        // Elements without bytes carry no information, and there can be any number of them.
        if size == 0 {
            return Ok(count);
        }
        let stride = stride.unwrap_or(size);
        let end = count.min(wanted.end);
        for number in wanted.start..end {
            let offset = i128::from(number).saturating_mul(stride.into());
            let node = self.element(node, element, stride, offset, types);
            let child = Child {
                name: index(number, dimensions),
                ty: node.as_ref().map_or(element, |node| node.ty),
                node,
            };
            visit(child, types)?;
        }
        Ok(count - end)
    }

    /// Returns the target of a pointer, and its type, or `None` if the pointer is null, or the target has no size.
    ///
    /// # Errors
    /// If the pointer cannot be followed. The type of the target is returned beside the error.
    pub(crate) fn target(
        &self,
        node: &Node<'p>,
        types: &mut TypeTable,
    ) -> Option<(TypeId, Result<Node<'p>, NoValue>)> {
        let TypeKind::Pointer {
            target,
            address_space,
            ..
        } = shape::resolve(types, node.ty).ty.kind
        else {
            return None;
        };
        let found = match self.implicit_target(node, target, types) {
            Some(found) => found,
            None => {
                let size = shape::size_in_bits(types, node.ty)?;
                let bits = self.read(node, size).ok()?;
                let address = bits.is_complete().then(|| number(&bits.bytes))??;
                if address == address_space.null() {
                    return None;
                }
                self.pointee(node.lane, target, address_space, address, false, types)
            }
        };
        let ty = found.as_ref().map_or(target, |found| found.ty);
        let has_size = shape::size_in_bits(types, ty).is_some_and(|size| size > 0);
        (has_size || found.is_err()).then_some((ty, found))
    }
}

/// Returns the text after the parent's name in an expression: a member's name, or a base class in angle brackets.
fn name_of(member: &Member, types: &TypeTable) -> String {
    let own = member.name.as_deref();
    if !member.is_base {
        return own.unwrap_or_default().to_owned();
    }
    let base = || shape::resolve(types, member.ty).ty.name.as_deref();
    format!("<{}>", own.or_else(base).unwrap_or_default())
}

/// Returns the indices of an element by its position in memory. The last dimension varies fastest.
fn index(number: u64, dimensions: &[Dimension]) -> String {
    let mut rest = number;
    let mut indices = Vec::new();
    for dimension in dimensions.iter().rev() {
        let count = dimension.count.unwrap_or(0).max(1);
        let (at, next) = (rest.checked_rem(count), rest.checked_div(count));
        let at = i128::from(at.unwrap_or(0)) + i128::from(dimension.lower_bound);
        indices.push(format!("[{at}]"));
        rest = next.unwrap_or(0);
    }
    indices.reverse();
    indices.concat()
}

/// Returns the number of at most 8 bytes.
fn number(bytes: &[u8]) -> Option<u64> {
    let byte = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    (bytes.len() <= 8).then(|| bytes.iter().rev().fold(0, byte))
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
