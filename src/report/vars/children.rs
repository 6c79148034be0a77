//! The parts of a value, each by itself: members, elements, and what pointers point to.
//!
//! How much is listed is bounded by the depth that was asked for, by the elements that are printed of an array, and by the
//! budgets of the document. Types of a damaged file may contain themselves; they end with the depth.

use serde::Serialize;

use crate::debug_info::type_name;
use crate::debug_info::types::TypeTable;
use crate::display::{self, Options, Pointee, TypedBytes, shape};
use crate::error::Result;
use crate::inspect::{ValueStateKind, bits_within, cut_text};
use crate::location::Bits;
use crate::meter::Meter;
use crate::report::hex_bytes;
use crate::tree::{Child, Known, NoValue, Node, Tree};
use crate::untrusted::Untrusted;

/// As how many bytes of output a part counts, besides its text: about what it takes in memory.
const PER_CHILD: u64 = 512;

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

/// Lists the parts of values.
pub(super) struct Lister<'l, 's, 'p, 'a> {
    pub(super) tree: &'l Tree<'s, 'p, 'a>,
    pub(super) options: &'l Options,
    pub(super) meter: &'l Meter,
}

/// The parts of a value, and how many there are besides.
type Children = (Vec<ChildDocument>, u64);

/// What was read of a part.
type ReadPart<'p> = (Node<'p>, Bits, Vec<Pointee>);

impl<'p> Lister<'_, '_, 'p, '_> {
    /// The parts of a value with these bits, `depth` levels of them.
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
        let most = self.options.max_elements;
        let more = self
            .tree
            .children(node, bits, types, most, &mut |child, types| {
                children.push(self.child(child, types, depth)?);
                Ok(())
            })?;
        Ok((children, more))
    }

    fn child(&self, child: Child<'p>, types: &mut TypeTable, depth: u32) -> Result<ChildDocument> {
        let ty = type_name(types, child.ty);
        let name = child.name;
        self.meter.hold(PER_CHILD)?;
        self.meter.charge_text(name.len() + ty.len())?;
        let mut document = ChildDocument {
            name: name.into(),
            ty: ty.into(),
            state: ValueStateKind::Error,
            value: None,
            bytes: None,
            message: None,
            children: Vec::new(),
            more_children: 0,
        };
        let (node, bits, pointees) = match self.read(child.node, types) {
            Ok(read) => read,
            Err(NoValue::Error(error)) if error.is_limit() => return Err(error),
            Err(reason) => {
                let message = reason.to_string();
                self.meter.charge_text(message.len())?;
                document.state = reason.state();
                document.message = Some(message.into());
                return Ok(document);
            }
        };
        let known = Known::of(&bits, &pointees, types, node.ty);
        document.state = known.state;
        let full = node.field.or_else(|| shape::size_in_bits(types, node.ty));
        let cut = || cut_text(self.tree.frame.stop().limits(), full.unwrap_or(0));
        document.message = if known.state == ValueStateKind::Unavailable {
            Some(super::NOT_SAID.into())
        } else {
            known.message.or_else(cut).map(Untrusted::from)
        };
        if !document.state.is_readable() {
            return Ok(document);
        }
        let text = self.text(&node, &bits, &pointees, types);
        self.meter.charge_text(text.len() + bits.bytes.len() * 2)?;
        document.value = Some(text);
        document.bytes = Some(hex_bytes(&bits.bytes));
        let parts = self.children(&node, &bits, types, depth)?;
        (document.children, document.more_children) = parts;
        Ok(document)
    }

    /// Reads a part, as much of it as is shown.
    fn read(
        &self,
        node: Result<Node<'p>, NoValue>,
        types: &TypeTable,
    ) -> Result<ReadPart<'p>, NoValue> {
        let node = node?;
        let size = node.field.or_else(|| shape::size_in_bits(types, node.ty));
        let full = size.ok_or(NoValue::UnknownLayout)?;
        let size = bits_within(self.tree.frame.stop().limits(), full);
        // The bits are copied, and dropped when they are printed.
        let bytes = usize::try_from(size.div_ceil(8)).unwrap_or(usize::MAX);
        self.meter.charge_bytes(bytes)?;
        let mut bits = self.tree.read(&node, size)?;
        bits.extend_unavailable(full);
        let pointees = self.tree.pointees(&node, types);
        Ok((node, bits, pointees))
    }

    fn text(
        &self,
        node: &Node<'p>,
        bits: &Bits,
        pointees: &[Pointee],
        types: &TypeTable,
    ) -> String {
        let value = display::Value {
            table: types,
            id: node.ty,
            value: &TypedBytes::of(bits),
            pointees,
            options: self.options,
        };
        match node.field {
            Some(size) => value.bit_field_text(size, self.meter),
            None => value.text(self.meter),
        }
    }
}
