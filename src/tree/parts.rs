//! Finds single members and elements.

use super::{NoValue, Node, Tree};
use crate::debug_info::types::{Member, TypeId, TypeTable};
use crate::display::shape;

/// The layout of an array's elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    pub(crate) ty: TypeId,
    /// The distance between elements in bits, if known.
    pub(crate) stride: Option<u64>,
    /// The index of the first element.
    pub(crate) lower_bound: i64,
    /// The number of elements, if known.
    pub(crate) count: Option<u64>,
}

impl Elements {
    /// Returns the distance of an element from the first, in bits.
    ///
    /// # Errors
    /// If the array has no such element.
    pub(crate) fn offset(&self, index: i128) -> Result<i128, NoValue> {
        let stride = self.stride.ok_or(NoValue::UnknownLayout)?;
        let first = i128::from(self.lower_bound);
        let after = index.saturating_sub(first);
        if let Some(count) = self.count
            && !(0..i128::from(count)).contains(&after)
        {
            return Err(NoValue::OutOfBounds {
                index,
                first,
                count,
            });
        }
        Ok(self.distance(index, stride))
    }

    /// Returns the distance for any index, even if there is no such element.
    pub(crate) fn distance(&self, index: i128, stride: u64) -> i128 {
        let after = index.saturating_sub(self.lower_bound.into());
        after.saturating_mul(stride.into())
    }
}

impl<'p> Tree<'_, 'p, '_> {
    /// Returns a member of a record.
    ///
    /// # Errors
    /// If its offset is unknown.
    pub(crate) fn member(
        &self,
        node: &Node<'p>,
        member: &Member,
        types: &mut TypeTable,
    ) -> Result<Node<'p>, NoValue> {
        let offset = member.bit_offset.ok_or(NoValue::UnknownLayout)?;
        let part = node.part(member.ty, offset.into());
        let ty = self.laid_out(member.ty, &part, types)?;
        Ok(Node {
            ty,
            field: member.bit_size,
            ..part
        })
    }

    /// Returns the element at this distance in bits from the first.
    ///
    /// * `place`: its type, and the distance between elements, in bits. A larger element is truncated to this.
    ///
    /// # Errors
    /// If its layout cannot be determined.
    pub(crate) fn element(
        &self,
        node: &Node<'p>,
        element: TypeId,
        stride: u64,
        offset: i128,
        types: &mut TypeTable,
    ) -> Result<Node<'p>, NoValue> {
        let part = node.part(element, offset);
        let ty = self.laid_out(element, &part, types)?;
        let is_cut = shape::size_in_bits(types, ty).is_some_and(|size| size > stride);
        Ok(Node {
            ty,
            field: is_cut.then_some(stride),
            ..part
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements of 4 bytes, the first of which has the index 1 as in Fortran.
    #[test]
    fn an_index_outside_of_the_bounds_is_an_error() {
        let elements = Elements {
            ty: TypeId(0),
            stride: Some(32),
            lower_bound: 1,
            count: Some(3),
        };
        assert_eq!(elements.offset(1), Ok(0));
        assert_eq!(elements.offset(3), Ok(64));
        for index in [0, 4, -1] {
            let error = elements.offset(index).unwrap_err();
            let text = format!("there is no element {index}: the first is 1, the last is 3");
            assert_eq!(error.to_string(), text);
        }
        let open = Elements {
            count: None,
            ..elements
        };
        assert_eq!(open.offset(11), Ok(320));
    }
}
