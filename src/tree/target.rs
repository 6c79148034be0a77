//! Follows pointers: to objects in memory, and through pointers that were optimized away (`DW_OP_implicit_pointer`).
//!
//! Sources: DWARF 5 §2.6.1.1.4; HET A.2.5.4.4.5.

use super::node::Root;
use super::{NoValue, Node, Tree};
use crate::arch::{AddressSpace, Lane};
use crate::debug_info::UnitId;
use crate::debug_info::types::{TypeId, TypeTable};
use crate::inspect::implicit_pointer;
use crate::location::ImplicitPointer;

impl<'p> Tree<'_, 'p, '_> {
    /// Returns the object at an address.
    ///
    /// # Errors
    /// If its layout cannot be determined.
    pub(crate) fn pointee(
        &self,
        lane: Lane,
        target: TypeId,
        space: AddressSpace,
        address: u64,
        is_null: bool,
        types: &mut TypeTable,
    ) -> Result<Node<'p>, NoValue> {
        let node = Node::of_memory(lane, target, space, address, is_null);
        if is_null {
            return Ok(node);
        }
        let ty = self.laid_out(target, &node, types)?;
        Ok(Node { ty, ..node })
    }

    /// Returns the target of a pointer without bits, or `None` if it has some, or no location.
    pub(crate) fn implicit_target(
        &self,
        node: &Node<'p>,
        target: TypeId,
        types: &mut TypeTable,
    ) -> Option<Result<Node<'p>, NoValue>> {
        let pointer = implicit_pointer(&self.location(node)?)?;
        Some(self.follow(pointer, node.lane, target, types))
    }

    /// Returns true if a value is a pointer without bits.
    pub(crate) fn is_implicit(&self, node: &Node<'p>) -> bool {
        let location = self.location(node);
        location.is_some_and(|location| implicit_pointer(&location).is_some())
    }

    fn follow(
        &self,
        pointer: &ImplicitPointer,
        lane: Lane,
        target: TypeId,
        types: &mut TypeTable,
    ) -> Result<Node<'p>, NoValue> {
        let context = self.context(UnitId(pointer.unit))?;
        let found = context.follow(pointer, lane)?;
        let node = Node::of_root(lane, target, Root::Place(found));
        let ty = self.laid_out(target, &node, types)?;
        Ok(Node { ty, ..node })
    }
}
