//! Lists the parts of values: members, elements and pointees.

use std::ops::Range;
use std::rc::Rc;

use hetdwarf::arch::{Apertures, Lane};
use hetdwarf::debug_info::types::{TypeId, TypeKind, TypeTable};
use hetdwarf::display::Options;
use hetdwarf::inspect::{StopFrame, VariableValue};
use hetdwarf::location::{Bits, Location};
use hetdwarf::query::Query;
use hetdwarf::tree::{Part, Parts, Tree};
use hetdwarf::untrusted::Untrusted;

use super::handle::{FrameId, Handle, Root};
use super::memory::Reference;
use super::protocol::Variable;
use super::session::Session;

/// The most elements of an array that are listed if the editor requests no number.
const MOST_ELEMENTS: u64 = 1000;

/// The value of a root in a lane, or the nested part to which a path leads.
pub(super) struct PartsOf<'r> {
    pub(super) id: FrameId,
    pub(super) root: &'r Root,
    pub(super) lane: u8,
    pub(super) path: &'r Rc<[u64]>,
}

/// The parts of a value in a lane, with the number of the first.
struct Found<'p> {
    first: u64,
    parts: Vec<Part<'p>>,
    more: u64,
}

/// Finds the parts of values of a frame. The values themselves are read only once.
pub(super) struct Walk<'s, 'p, 'a> {
    tree: Tree<'s, 'p, 'a>,
    types: TypeTable,
    start: Start<'p>,
    apertures: Option<Apertures>,
}

/// The values whose parts are found.
enum Start<'p> {
    /// The variables of the frame.
    Variables(Vec<VariableValue<'p>>),
    /// An expression: the type and the value in each lane that has a value.
    Expression(Vec<(Lane, TypeId, Bits)>),
}

impl<'s, 'p, 'a> Walk<'s, 'p, 'a> {
    /// * `lanes`: the lanes in which an expression is evaluated.
    pub(super) fn new(
        frame: &StopFrame<'s, 'p, 'a>,
        root: &Root,
        lanes: &[Lane],
    ) -> Result<Walk<'s, 'p, 'a>, String> {
        let text = |error: hetdwarf::Error| error.to_string();
        let tree = Tree::of_frame(*frame).map_err(text)?;
        let mut types = TypeTable::default();
        let start = match root {
            Root::Variable(_) => Start::Variables(frame.variables(&mut types).map_err(text)?),
            Root::Expression(expression) => {
                let mut query = Query::new(*frame).map_err(text)?;
                let answer = query.evaluate(expression, lanes);
                let answer = answer.map_err(|error| error.to_string())?;
                types = query.types().clone();
                let lanes = answer.lanes.into_iter();
                let values = lanes.filter_map(|one| Some((one.lane, one.ty, one.value.ok()?)));
                Start::Expression(values.collect())
            }
            Root::Register(_) => return Err("a register has no parts".to_owned()),
        };
        Ok(Walk {
            tree,
            types,
            start,
            apertures: frame.stop().wave().apertures(),
        })
    }

    /// Lists the parts of the value or nested part that `of` refers to.
    ///
    /// * `elements`: the elements of an array that are listed.
    fn parts(
        &mut self,
        of: &PartsOf<'_>,
        elements: Range<u64>,
        options: &Options,
    ) -> Result<Found<'p>, String> {
        let text = |error: hetdwarf::Error| error.to_string();
        let lane = Lane(of.lane);
        let mut numbers = of.path.iter().copied();
        let mut next = numbers.next();
        let range = |next: Option<u64>| match next {
            Some(number) => number..number.saturating_add(1),
            None => elements.clone(),
        };
        let (mut found, mut ty): (Parts<'p>, TypeId) = match (&self.start, of.root) {
            (Start::Variables(values), Root::Variable(number)) => {
                let value = values.get(*number).ok_or("there is no such variable")?;
                let found =
                    self.tree
                        .of_variable(value, lane, &mut self.types, range(next), options);
                (found.map_err(text)?, value.type_in(lane))
            }
            (Start::Expression(values), _) => {
                let value = values.iter().find(|(of, ..)| *of == lane);
                let (_, ty, bits) = value.ok_or("there is no value in this lane")?;
                let found =
                    self.tree
                        .of_bits(bits, *ty, lane, &mut self.types, range(next), options);
                (found.map_err(text)?, *ty)
            }
            (Start::Variables(_), _) => return Err("there is no such variable".to_owned()),
        };
        while let Some(number) = next {
            // For an array, only the one element was read; for a structure, all members were.
            let index = match is_array(&self.types, ty) {
                true => 0,
                false => usize::try_from(number).unwrap_or(usize::MAX),
            };
            let part = found.parts.into_iter().nth(index);
            let part = part.ok_or("there is no such part")?;
            ty = part.ty;
            next = numbers.next();
            found = self
                .tree
                .of_part(&part, &mut self.types, range(next), options)
                .map_err(text)?;
        }
        let first = match is_array(&self.types, ty) {
            true => elements.start,
            false => 0,
        };
        Ok(Found {
            first,
            parts: found.parts,
            more: found.more,
        })
    }
}

impl<'p> Walk<'_, 'p, '_> {
    /// Returns the address of a root in a lane, or the address that it points to, if it is a pointer.
    fn reference(&self, of: &PartsOf<'_>) -> Option<String> {
        let lane = Lane(of.lane);
        match (&self.start, of.root) {
            (Start::Variables(values), Root::Variable(number)) => {
                let value = values.get(*number)?;
                let bits = value.bits(lane).ok().flatten();
                let location = value.location(lane);
                self.reference_to(value.type_in(lane), bits.as_ref(), location, lane)
            }
            (Start::Expression(values), _) => {
                let (_, ty, bits) = values.iter().find(|(of, ..)| *of == lane)?;
                self.reference_to(*ty, Some(bits), None, lane)
            }
            (Start::Variables(_), _) => None,
        }
    }

    /// Returns the address of a part, or the address that it points to, if it is a pointer.
    fn reference_of_part(&self, part: &Part<'p>, lane: Lane) -> Option<String> {
        let location = self.tree.place(part);
        self.reference_to(part.ty, part.bits.as_ref(), location, lane)
    }

    fn reference_to(
        &self,
        ty: TypeId,
        bits: Option<&Bits>,
        location: Option<Location<'_>>,
        lane: Lane,
    ) -> Option<String> {
        let kind = &self.types.resolved(ty).kind;
        let reference = if let TypeKind::Pointer { address_space, .. } = kind {
            Reference::of_pointer(*address_space, lane, bits?)?
        } else {
            Reference::of_location(&location?, lane)?
        };
        Some(reference.seen_from(self.apertures).text())
    }
}

impl Session<'_> {
    /// Gives a value a reference if it has parts.
    ///
    /// * `walk`: reused for all values of the frame.
    pub(super) fn expandable(
        &mut self,
        walk: &mut Walk<'_, '_, '_>,
        of: &PartsOf<'_>,
        one: &mut Variable,
    ) -> Result<(), String> {
        // Reading one element shows whether there are parts, and how many.
        let found = walk.parts(of, 0..1, &self.format.options())?;
        one.memory_reference = walk.reference(of);
        if found.parts.is_empty() {
            return Ok(());
        }
        if found.more > 0 {
            one.indexed_variables = Some(found.more.saturating_add(1));
        }
        let handle = Handle::Parts(of.id, of.root.clone(), of.lane, Rc::clone(of.path));
        one.variables_reference = self.handles.number(handle)?;
        Ok(())
    }

    /// Lists the parts of a value.
    pub(super) fn parts_of(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        of: &PartsOf<'_>,
        (start, count): (usize, usize),
    ) -> Result<Vec<Variable>, String> {
        let (from, many) = (start as u64, (count as u64).min(MOST_ELEMENTS));
        let mut walk = Walk::new(frame, of.root, &[Lane(of.lane)])?;
        let options = self.format.options();
        let found = walk.parts(of, from..from.saturating_add(many), &options)?;
        let is_array = found.first > 0 || found.more > 0;
        let mut listed = Vec::new();
        for (number, part) in (found.first..).zip(&found.parts) {
            let value = match (&part.text, &part.message) {
                (Some(text), _) => text.clone(),
                (None, Some(message)) => format!("<{}> ({message})", part.state.name()),
                (None, None) => format!("<{}>", part.state.name()),
            };
            let mut one = Variable {
                name: Untrusted::from(part.name.clone()).to_string(),
                ty: Some(part.type_name.clone()),
                value,
                ..Variable::default()
            };
            one.memory_reference = walk.reference_of_part(part, Lane(of.lane));
            if part.state.is_readable() && has_parts(&walk.types, part.ty) {
                let mut deeper = of.path.to_vec();
                deeper.push(number);
                let handle = Handle::Parts(of.id, of.root.clone(), of.lane, deeper.into());
                one.variables_reference = self.handles.number(handle)?;
            }
            listed.push(one);
        }
        if !is_array {
            // The protocol numbers only the elements of arrays, so other parts are limited here.
            listed = listed.into_iter().skip(start).take(count).collect();
        }
        Ok(listed)
    }
}

fn is_array(types: &TypeTable, ty: TypeId) -> bool {
    matches!(types.resolved(ty).kind, TypeKind::Array { .. })
}

/// Returns true if values of a type have parts or are pointers.
fn has_parts(types: &TypeTable, ty: TypeId) -> bool {
    let kind = &types.resolved(ty).kind;
    if let TypeKind::Pointer { target, .. } = kind {
        let target = &types.resolved(*target).kind;
        return !matches!(target, TypeKind::Void | TypeKind::Function { .. });
    }
    matches!(
        kind,
        TypeKind::Array { .. } | TypeKind::Record { .. } | TypeKind::Variants { .. }
    )
}
