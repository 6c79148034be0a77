//! Represents a typed value in one lane, and the object that contains it.

use std::rc::Rc;

use crate::arch::{AddressSpace, Lane};
use crate::debug_info::types::TypeId;
use crate::inspect::ValueStateKind;
use crate::location::{Bits, Location};

/// A typed value of one lane.
#[derive(Clone, Debug)]
pub(crate) struct Node<'p> {
    pub(crate) lane: Lane,
    /// The type in the lane.
    pub(crate) ty: TypeId,
    /// The size of a bit-field, in bits.
    pub(crate) field: Option<u64>,
    pub(super) root: Root<'p>,
    /// The start, in bits from the start of the root.
    pub(super) bit_offset: i128,
    /// The origin, if it was found through a value that the debugging information does not give.
    pub(super) recovered: Option<ValueStateKind>,
}

/// The object that contains a value.
#[derive(Clone, Debug)]
pub(super) enum Root<'p> {
    /// Bits that were read, and their location, if they have one.
    Bits {
        bits: Rc<Bits>,
        location: Option<Location<'p>>,
    },
    /// Contents of memory at an address.
    Memory {
        space: AddressSpace,
        address: u64,
        is_null: bool,
    },
    /// The target of an implicit pointer.
    Place(Location<'p>),
}

impl<'p> Node<'p> {
    /// Returns a node for a value that was read.
    pub(crate) fn of_bits(
        lane: Lane,
        ty: TypeId,
        bits: Rc<Bits>,
        location: Option<Location<'p>>,
    ) -> Node<'p> {
        Node::of_root(lane, ty, Root::Bits { bits, location })
    }

    /// Returns a node for an object in memory.
    pub(crate) fn of_memory(
        lane: Lane,
        ty: TypeId,
        space: AddressSpace,
        address: u64,
        is_null: bool,
    ) -> Node<'p> {
        let root = Root::Memory {
            space,
            address,
            is_null,
        };
        Node::of_root(lane, ty, root)
    }

    pub(super) fn of_root(lane: Lane, ty: TypeId, root: Root<'p>) -> Node<'p> {
        Node {
            lane,
            ty,
            field: None,
            root,
            bit_offset: 0,
            recovered: None,
        }
    }

    /// Returns the part that starts this many bits further on.
    pub(crate) fn part(&self, ty: TypeId, bits: i128) -> Node<'p> {
        Node {
            ty,
            field: None,
            root: self.root.clone(),
            bit_offset: self.bit_offset.saturating_add(bits),
            ..*self
        }
    }
}
