//! The parts of a value, each by itself: members, elements, and what pointers point to.
//!
//! How much is listed is bounded by the depth that was asked for, by the elements that are printed of an array, and by the
//! budgets of the document. Types of a damaged file may contain themselves; they end with the depth.

use serde::Serialize;

use crate::debug_info::types::TypeTable;
use crate::display::Options;
use crate::error::Result;
use crate::inspect::ValueStateKind;
use crate::location::Bits;
use crate::report::hex_bytes;
use crate::tree::{Node, Part, Tree};
use crate::untrusted::Untrusted;

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

/// The parts of a value, and how many there are besides.
type Children = (Vec<ChildDocument>, u64);

impl<'p> Lister<'_, '_, 'p, '_> {
    /// Returns the parts of a value with these bits, `depth` levels of them.
    ///
    /// # Errors
    /// If there are more than a document can have.
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
