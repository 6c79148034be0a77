//! Lists the parts of a value: its members, its elements, and the targets of its pointers.
//!
//! The requested depth, the number of elements that are printed of an array, and the limits of the document bound the list. Types of a malformed file
//! may contain themselves, so only the depth ends their expansion.

use serde::Serialize;

use crate::debug_info::types::TypeTable;
use crate::display::Options;
use crate::error::Result;
use crate::inspect::ValueStateKind;
use crate::location::Bits;
use crate::report::hex_bytes;
use crate::tree::{Node, Part, Tree};
use crate::untrusted::Untrusted;

/// A member or an element of a value, or the target of a pointer.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ChildDocument {
    /// The text that follows the parent's name in a C expression, without the dot of a member: `x`, `[3]` or `[1][2]`. The target of a pointer has
    /// the name `*`, and a base class has the name `<Base>`. An anonymous structure or union has an empty name.
    pub name: Untrusted<'static>,
    /// The name of the type.
    #[serde(rename = "type")]
    pub ty: Untrusted<'static>,
    /// The state of the value, as for a variable in a lane.
    pub state: ValueStateKind,
    /// The value in the format of a C debugger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The bytes in memory order. For a bit-field, its bits from the lowest on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// The reason why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
    /// The parts of this value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildDocument>,
    /// The number of elements that are not listed.
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

/// Lists the parts of values.
pub(super) struct Lister<'l, 's, 'p, 'a> {
    pub(super) tree: &'l Tree<'s, 'p, 'a>,
    pub(super) options: &'l Options,
}

/// The listed parts of a value, and the number of parts that are not listed.
type Children = (Vec<ChildDocument>, u64);

impl<'p> Lister<'_, '_, 'p, '_> {
    /// Returns the parts of a value with these bits, down to `depth` levels.
    ///
    /// # Errors
    /// If there are more parts than a document may have.
    pub(super) fn children(
        &self,
        node: &Node<'p>,
        bits: &Bits,
        types: &mut TypeTable,
        depth: u32,
    ) -> Result<Children> {
        let mut children = Vec::new();
        let Some(depth) = depth.checked_sub(1) else {
            return Ok((children, 0));
        };
        let elements = 0..self.options.max_elements;
        let mut visit = |part: Part<'p>, types: &mut TypeTable| {
            children.push(self.child(&part, types, depth)?);
            Ok(())
        };
        let value = (node, bits);
        let more = (self.tree).each_part(value, types, &elements, self.options, &mut visit)?;
        Ok((children, more))
    }

    fn child(&self, part: &Part<'p>, types: &mut TypeTable, depth: u32) -> Result<ChildDocument> {
        let mut document = ChildDocument {
            name: part.name.clone().into(),
            ty: part.type_name.clone().into(),
            state: part.state,
            value: part.text.clone(),
            bytes: part.bits.as_ref().map(|bits| hex_bytes(&bits.bytes)),
            message: part.message.clone().map(Untrusted::from),
            children: Vec::new(),
            more_children: 0,
        };
        if let Some((node, bits)) = part.value() {
            let parts = self.children(node, bits, types, depth)?;
            (document.children, document.more_children) = parts;
        }
        Ok(document)
    }
}
