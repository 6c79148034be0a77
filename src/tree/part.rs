//! Reads the parts of a value: name, type, state, bits and text of each.
//!
//! [`children`](super::children) enumerates the parts. The number of levels to read is left to the caller: types of a damaged file may be recursive.

use core::ops::Range;
use std::rc::Rc;

use super::{Child, Known, NoValue, Node, Tree};
use crate::arch::Lane;
use crate::debug_info::type_name;
use crate::debug_info::types::{TypeId, TypeTable};
use crate::display::{self, Options, Pointee, TypedBytes, shape};
use crate::error::Result;
use crate::inspect::{NOT_SAID, Recovered, ValueStateKind, VariableValue, bits_within, cut_text};
use crate::location::{Bits, Location};

/// The output bytes charged for a part in addition to its text, about the memory that it takes.
const PER_PART: u64 = 512;

/// A member or an element of a value in a lane, or its target.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Part<'p> {
    /// The text after the parent's name in a C expression, without the dot of a member: `x`, `[3]`, `[1][2]`, or `*` for the target of a pointer. It
    /// is empty for an anonymous structure or union, and `<Base>` for a base class.
    pub name: String,
    /// The type in the lane.
    pub ty: TypeId,
    /// The name of the type.
    pub type_name: String,
    /// The state, as for a variable in a lane.
    pub state: ValueStateKind,
    /// The bits, if at least a part of the value is known. Missing bits are in the masks.
    pub bits: Option<Bits>,
    /// The size of a bit-field, in bits.
    pub bit_field: Option<u64>,
    /// The value in C debugger syntax, if there is one.
    pub text: Option<String>,
    /// The reason why the value, or a part of it, is missing.
    pub message: Option<String>,
    node: Option<Node<'p>>,
}

/// The parts of a value.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Parts<'p> {
    /// The parts that were read, in the order of the members or elements.
    pub parts: Vec<Part<'p>>,
    /// The number of elements not listed.
    pub more: u64,
}

/// A part that was read.
type ReadPart<'p> = (Node<'p>, Bits, Vec<Pointee>);

impl<'p> Part<'p> {
    /// Records that it was found through a value that the debugging information does not give.
    fn weaken(&mut self, recovered: Option<ValueStateKind>) {
        if let (ValueStateKind::Ok, Some(state)) = (self.state, recovered) {
            self.state = state;
        }
        if let Some(node) = &mut self.node {
            node.recovered = recovered;
        }
    }

    /// Returns the node and bits for reading its own parts, if it has at least a part of a value.
    pub(crate) fn value(&self) -> Option<(&Node<'p>, &Bits)> {
        self.node.as_ref().zip(self.bits.as_ref())
    }
}

impl<'p> Tree<'_, 'p, '_> {
    /// Returns the parts of a variable in a lane, or none if it has no value there, or its value is a number.
    ///
    /// * `types`: the types of the frame's variables. Types that are laid out at run time are added.
    /// * `elements`: the array elements to read, by their position in memory from 0, or `0..u64::MAX` for all.
    /// * `options`: the format of texts.
    ///
    /// # Errors
    /// If the cost of the parts exceeds the limit. An unreadable part has the error in its value.
    pub fn of_variable(
        &self,
        value: &VariableValue<'p>,
        lane: Lane,
        types: &mut TypeTable,
        elements: Range<u64>,
        options: &Options,
    ) -> Result<Parts<'p>> {
        let is_readable = value.state(lane).kind().is_readable();
        match self.root(value, lane)? {
            Some((node, bits)) if is_readable => {
                self.collect((&node, &bits), types, &elements, options)
            }
            Some(_) | None => Ok(Parts::default()),
        }
    }

    /// Returns the parts of a part. See [`of_variable`](Tree::of_variable).
    ///
    /// # Errors
    /// If the cost of the parts exceeds the limit.
    pub fn of_part(
        &self,
        part: &Part<'p>,
        types: &mut TypeTable,
        elements: Range<u64>,
        options: &Options,
    ) -> Result<Parts<'p>> {
        match part.value() {
            Some((node, bits)) => self.collect((node, bits), types, &elements, options),
            None => Ok(Parts::default()),
        }
    }

    /// Returns the parts of a value without a location, such as an expression's result. See [`of_variable`](Tree::of_variable).
    ///
    /// # Errors
    /// If the cost of the parts exceeds the limit.
    pub fn of_bits(
        &self,
        bits: &Bits,
        ty: TypeId,
        lane: Lane,
        types: &mut TypeTable,
        elements: Range<u64>,
        options: &Options,
    ) -> Result<Parts<'p>> {
        let bits = Rc::new(bits.clone());
        let node = Node::of_bits(lane, ty, Rc::clone(&bits), None);
        self.collect((&node, &bits), types, &elements, options)
    }

    /// Returns the location of a part, if it has one.
    #[must_use]
    pub fn place(&self, part: &Part<'p>) -> Option<Location<'p>> {
        self.location(part.node.as_ref()?)
    }

    /// Returns the contents of a variable in a lane, or `None` if it is unknown or unsupported.
    pub(crate) fn root(
        &self,
        value: &VariableValue<'p>,
        lane: Lane,
    ) -> Result<Option<(Node<'p>, Rc<Bits>)>> {
        if value.not_understood().is_some() {
            return Ok(None);
        }
        let bits = value.bits(lane)?.map(Rc::new);
        Ok(bits.map(|bits| {
            let ty = value.type_in(lane);
            let node = Node {
                recovered: value.recovered().map(Recovered::state),
                ..Node::of_bits(lane, ty, Rc::clone(&bits), value.location(lane))
            };
            (node, bits)
        }))
    }

    fn collect(
        &self,
        value: (&Node<'p>, &Bits),
        types: &mut TypeTable,
        elements: &Range<u64>,
        options: &Options,
    ) -> Result<Parts<'p>> {
        self.frame.stop().reset_meter();
        let meter = self.frame.stop().meter();
        let mut parts = Vec::new();
        let more = self.each_part(value, types, elements, options, &mut |part, _| {
            let kept = part.bits.as_ref().map_or(0, |bits| bits.bytes.len());
            meter.hold(kept as u64)?;
            parts.push(part);
            Ok(())
        })?;
        Ok(Parts { parts, more })
    }

    /// Visits the parts of a value, and returns the number of further elements.
    ///
    /// # Errors
    /// If `visit` fails, or the cost of the parts exceeds the limit.
    pub(crate) fn each_part(
        &self,
        (node, bits): (&Node<'p>, &Bits),
        types: &mut TypeTable,
        elements: &Range<u64>,
        options: &Options,
        visit: &mut dyn FnMut(Part<'p>, &mut TypeTable) -> Result<()>,
    ) -> Result<u64> {
        self.children(node, bits, types, elements, &mut |child, types| {
            let mut part = self.part(child, types, options)?;
            part.weaken(node.recovered);
            visit(part, types)
        })
    }

    fn part(&self, child: Child<'p>, types: &mut TypeTable, options: &Options) -> Result<Part<'p>> {
        let meter = self.frame.stop().meter();
        let type_name = type_name(types, child.ty);
        meter.hold(PER_PART)?;
        meter.charge_text(child.name.len() + type_name.len())?;
        let mut part = Part {
            name: child.name,
            ty: child.ty,
            type_name,
            state: ValueStateKind::Error,
            bits: None,
            bit_field: None,
            text: None,
            message: None,
            node: None,
        };
        let (node, bits, pointees) = match self.read_part(child.node, types) {
            Ok(read) => read,
            Err(NoValue::Error(error)) if error.is_limit() => return Err(error),
            Err(reason) => {
                let message = reason.to_string();
                meter.charge_text(message.len())?;
                part.state = reason.state();
                part.message = Some(message);
                return Ok(part);
            }
        };
        let known = Known::of(&bits, &pointees, types, node.ty);
        part.state = known.state;
        part.bit_field = node.field;
        let full = node.field.or_else(|| shape::size_in_bits(types, node.ty));
        let cut = || cut_text(self.frame.stop().limits(), full.unwrap_or(0));
        part.message = if known.state == ValueStateKind::Unavailable {
            Some(NOT_SAID.to_owned())
        } else {
            known.message.or_else(cut)
        };
        if !part.state.is_readable() {
            return Ok(part);
        }
        let text = self.text(&node, &bits, &pointees, types, options);
        meter.charge_text(text.len() + bits.bytes.len() * 2)?;
        part.text = Some(text);
        part.bits = Some(bits);
        part.node = Some(node);
        Ok(part)
    }

    /// Reads a part, within the size that is shown.
    fn read_part(
        &self,
        node: Result<Node<'p>, NoValue>,
        types: &TypeTable,
    ) -> Result<ReadPart<'p>, NoValue> {
        let node = node?;
        let size = node.field.or_else(|| shape::size_in_bits(types, node.ty));
        let full = size.ok_or(NoValue::UnknownLayout)?;
        let size = bits_within(self.frame.stop().limits(), full);
        // The bits are copied.
        let bytes = usize::try_from(size.div_ceil(8)).unwrap_or(usize::MAX);
        self.frame.stop().meter().charge_bytes(bytes)?;
        let mut bits = self.read(&node, size)?;
        bits.extend_unavailable(full);
        let pointees = self.pointees(&node, types);
        Ok((node, bits, pointees))
    }

    fn text(
        &self,
        node: &Node<'p>,
        bits: &Bits,
        pointees: &[Pointee],
        types: &TypeTable,
        options: &Options,
    ) -> String {
        let value = display::Value {
            table: types,
            id: node.ty,
            value: &TypedBytes::of(bits),
            pointees,
            options,
        };
        let meter = self.frame.stop().meter();
        match node.field {
            Some(size) => value.bit_field_text(size, meter),
            None => value.text(meter),
        }
    }
}
