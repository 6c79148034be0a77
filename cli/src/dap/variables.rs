//! Scopes and variables: the children of a scope are its variables, those of a variable its lanes, and those of a lane the parts of its
//! value. Where the user chose a lane, a variable is its value in this lane.

use std::rc::Rc;

use serde_json::{Value, json};

use hetdwarf::arch::{Lane, Register, RegisterClass};
use hetdwarf::debug_info::VariableKind;
use hetdwarf::debug_info::types::{TypeId, TypeKind, TypeTable};
use hetdwarf::display::Options;
use hetdwarf::inspect::{Stop, StopFrame};
use hetdwarf::location::Bits;
use hetdwarf::query::Query;
use hetdwarf::report::{
    LaneChoice, LaneDocument, PrintDocument, VariableDocument, VarsDocument, VarsRequest,
};
use hetdwarf::tree::{Part, Parts, Tree};

use super::fields::set;
use super::handle::{FrameId, Handle, Root, ScopeKind};
use super::message::Request;
use super::session::{Answer, Session};
use super::stack::frame_of;
use super::value::{lane_text, summary};

/// How many elements of an array are listed if the editor does not say how many it wants.
const MOST_ELEMENTS: u64 = 1000;

/// Something with a value in each lane.
pub(super) struct Shown<'d> {
    pub(super) name: String,
    pub(super) ty: Option<String>,
    pub(super) lanes: &'d [LaneDocument],
    /// The expression that has this value.
    pub(super) expression: Option<String>,
}

impl Shown<'_> {
    fn named(&self) -> Value {
        let mut one = json!({ "name": self.name, "type": self.ty });
        if let Some(expression) = &self.expression {
            set(&mut one, "evaluateName", expression.clone());
        }
        one
    }
}

impl Session<'_> {
    /// Lists the groups of variables of a frame.
    pub(super) fn scopes(&mut self, request: &Request) -> Answer {
        let id = self.handles.frame(request.needed("frameId")?)?;
        self.current = id;
        let mut scopes = Vec::new();
        for (kind, name, hint, is_costly) in [
            (ScopeKind::Locals, "Locals", Some("locals"), false),
            (ScopeKind::Globals, "Globals", None, true),
            (
                ScopeKind::ScalarRegisters,
                "Scalar registers",
                Some("registers"),
                true,
            ),
            (
                ScopeKind::VectorRegisters,
                "Vector registers",
                Some("registers"),
                true,
            ),
        ] {
            let reference = self.handles.number(Handle::Scope(id, kind))?;
            let mut scope = json!({
                "name": name,
                "variablesReference": reference,
                "expensive": is_costly,
            });
            if let Some(hint) = hint {
                set(&mut scope, "presentationHint", hint);
            }
            scopes.push(scope);
        }
        Ok(json!({ "scopes": scopes }))
    }

    /// Lists the children of a scope, a variable or a value, as many as are asked for.
    pub(super) fn variables(&mut self, request: &Request) -> Answer {
        let handle = self.handles.get(request.needed("variablesReference")?)?;
        let handle = handle.clone();
        let (start, count) = request.page("start", "count")?;
        let id = match &handle {
            Handle::Scope(id, _) | Handle::Lanes(id, _) | Handle::Parts(id, ..) => *id,
            Handle::Frame(_) | Handle::Source(_) => {
                return Err("variablesReference: it is that of no variable".to_owned());
            }
        };
        self.current = id;
        let listed = self.with_stop(id.wave, |session, stop| {
            let frame = frame_of(stop, id)?;
            match &handle {
                Handle::Scope(_, kind) => session.scope(&frame, id, *kind, (start, count)),
                Handle::Lanes(_, root) => session.lanes_of(&frame, id, root, (start, count)),
                Handle::Parts(_, root, lane, path) => {
                    session.parts_of(&frame, id, root, *lane, path, (start, count))
                }
                Handle::Frame(_) | Handle::Source(_) => Ok(Vec::new()),
            }
        })?;
        Ok(json!({ "variables": listed }))
    }

    fn scope(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        id: FrameId,
        kind: ScopeKind,
        page: (usize, usize),
    ) -> Result<Vec<Value>, String> {
        let is_wanted = |one: &VariableDocument| match kind {
            ScopeKind::Locals => one.kind != VariableKind::Global,
            ScopeKind::Globals => one.kind == VariableKind::Global,
            ScopeKind::ScalarRegisters | ScopeKind::VectorRegisters => false,
        };
        if matches!(
            kind,
            ScopeKind::ScalarRegisters | ScopeKind::VectorRegisters
        ) {
            return self.registers(frame, id, kind, page);
        }
        let all = variables(frame)?;
        let all = all.iter().enumerate();
        let wanted = all.filter(|(_, one)| is_wanted(one));
        let mut listed = Vec::new();
        for (number, variable) in wanted.skip(page.0).take(page.1) {
            let shown = Shown {
                name: variable.name.to_string(),
                ty: Some(variable.ty.to_string()),
                lanes: &variable.lanes,
                expression: Some(variable.name.raw().to_owned()),
            };
            listed.push(self.shown(frame, id, Root::Variable(number), &shown)?);
        }
        Ok(listed)
    }

    /// Describes something that has a value in each lane: by the lane that the user chose, or by all of them.
    pub(super) fn shown(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        id: FrameId,
        root: Root,
        shown: &Shown<'_>,
    ) -> Answer {
        let focus = self.focus.get(&id.wave).copied();
        let lane = focus.and_then(|focus| shown.lanes.iter().find(|one| one.lane == focus.0));
        let Some(lane) = lane else {
            return self.shown_in_all(id, root, shown);
        };
        let mut one = shown.named();
        set(&mut one, "value", lane_text(lane));
        let handle = Handle::Parts(id, root, lane.lane, Rc::from([]));
        self.expandable(frame, &mut None, handle, lane.is_readable(), &mut one)?;
        Ok(one)
    }

    /// Describes something that has a value in each lane by all of them.
    pub(super) fn shown_in_all(&mut self, id: FrameId, root: Root, shown: &Shown<'_>) -> Answer {
        let mut one = shown.named();
        set(&mut one, "value", summary(shown.lanes));
        let reference = self.handles.number(Handle::Lanes(id, root))?;
        set(&mut one, "variablesReference", reference);
        set(&mut one, "indexedVariables", shown.lanes.len());
        Ok(one)
    }

    /// Gives a value a reference, if it has parts.
    ///
    /// * `walk`: kept from one lane of a variable to the next, so that the variables of the frame are read once.
    fn expandable<'s, 'p, 'a>(
        &mut self,
        frame: &StopFrame<'s, 'p, 'a>,
        walk: &mut Option<Walk<'s, 'p, 'a>>,
        handle: Handle,
        is_readable: bool,
        one: &mut Value,
    ) -> Result<(), String> {
        set(one, "variablesReference", 0);
        let Handle::Parts(_, root, lane, path) = &handle else {
            return Ok(());
        };
        if !is_readable || matches!(root, Root::Register(_)) {
            return Ok(());
        }
        // One element tells whether there are parts, and how many elements there are.
        let lane = Lane(*lane);
        let is_kept = walk.is_some() && matches!(root, Root::Variable(_));
        if !is_kept {
            *walk = Some(Walk::new(frame, root, lane)?);
        }
        let Some(walk) = walk else { return Ok(()) };
        walk.lane = lane;
        let found = walk.parts(path, 0..1)?;
        if found.parts.is_empty() {
            return Ok(());
        }
        if found.more > 0 {
            set(one, "indexedVariables", found.more.saturating_add(1));
        }
        set(one, "variablesReference", self.handles.number(handle)?);
        Ok(())
    }

    fn lanes_of(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        id: FrameId,
        root: &Root,
        (start, count): (usize, usize),
    ) -> Result<Vec<Value>, String> {
        let lanes = match root {
            Root::Variable(number) => {
                let all = variables(frame)?;
                let variable = all.into_iter().nth(*number);
                variable.ok_or("there is no such variable")?.lanes
            }
            Root::Expression(text) => answer(frame, text)?.1,
            Root::Register(number) => return registers_of_lanes(frame, *number, start, count),
        };
        let mut listed = Vec::new();
        let mut walk = None;
        for lane in lanes.iter().skip(start).take(count) {
            let name = match lane.work_item {
                Some([x, y, z]) => format!("lane {} ({x},{y},{z})", lane.lane),
                None => format!("lane {}", lane.lane),
            };
            let mut one = json!({ "name": name, "value": lane_text(lane) });
            let handle = Handle::Parts(id, root.clone(), lane.lane, Rc::from([]));
            self.expandable(frame, &mut walk, handle, lane.is_readable(), &mut one)?;
            listed.push(one);
        }
        Ok(listed)
    }

    fn parts_of(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        id: FrameId,
        root: &Root,
        lane: u8,
        path: &Rc<[u64]>,
        (start, count): (usize, usize),
    ) -> Result<Vec<Value>, String> {
        let (start, count) = (start as u64, (count as u64).min(MOST_ELEMENTS));
        let mut walk = Walk::new(frame, root, Lane(lane))?;
        let found = walk.parts(path, start..start.saturating_add(count))?;
        let is_array = found.first > 0 || found.more > 0;
        let mut listed = Vec::new();
        for (number, part) in (found.first..).zip(&found.parts) {
            let text = match (&part.text, &part.message) {
                (Some(text), _) => text.clone(),
                (None, Some(message)) => format!("<{}> ({message})", part.state.name()),
                (None, None) => format!("<{}>", part.state.name()),
            };
            let mut one = json!({
                "name": hetdwarf::untrusted::Untrusted::from(part.name.clone()).to_string(),
                "type": part.type_name,
                "value": text,
                "variablesReference": 0,
            });
            if part.state.is_readable() && has_parts(&walk.types, part.ty) {
                let mut deeper = path.to_vec();
                deeper.push(number);
                let handle = Handle::Parts(id, root.clone(), lane, deeper.into());
                set(&mut one, "variablesReference", self.handles.number(handle)?);
            }
            listed.push(one);
        }
        if !is_array {
            // The parts of a structure are not numbered.
            let (start, count) = (start as usize, count as usize);
            listed = listed.into_iter().skip(start).take(count).collect();
        }
        Ok(listed)
    }

    fn registers(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        id: FrameId,
        kind: ScopeKind,
        (start, count): (usize, usize),
    ) -> Result<Vec<Value>, String> {
        let is_vector = kind == ScopeKind::VectorRegisters;
        let mut listed = Vec::new();
        let mut seen = 0_usize;
        for register in registers(frame, is_vector) {
            let Ok(bits) = frame.read_register(register, None) else {
                continue;
            };
            if !bits.is_complete() {
                continue;
            }
            seen = seen.saturating_add(1);
            if seen <= start {
                continue;
            }
            if listed.len() >= count {
                break;
            }
            let name = register.to_string();
            let mut one = json!({ "name": name, "evaluateName": format!("${name}") });
            if is_vector {
                let lanes = dwords(&bits);
                set(&mut one, "value", of_lanes(&lanes));
                let root = Root::Register(register.0);
                set(
                    &mut one,
                    "variablesReference",
                    self.handles.number(Handle::Lanes(id, root))?,
                );
                set(&mut one, "indexedVariables", lanes.len());
            } else {
                set(&mut one, "value", hexadecimal(&bits));
                set(&mut one, "variablesReference", 0);
            }
            listed.push(one);
        }
        Ok(listed)
    }
}

/// Returns the variables of a frame, in every lane.
pub(super) fn variables(frame: &StopFrame<'_, '_, '_>) -> Result<Vec<VariableDocument>, String> {
    let request = VarsRequest::default().lanes(LaneChoice::All);
    let document = VarsDocument::new(frame, &request).map_err(|error| error.to_string())?;
    let frames = document.frames.into_iter();
    Ok(frames.flat_map(|frame| frame.variables).collect())
}

/// Evaluates an expression in every lane of a frame: its type, and its values.
pub(super) fn answer(
    frame: &StopFrame<'_, '_, '_>,
    text: &str,
) -> Result<(Option<String>, Vec<LaneDocument>), String> {
    let texts = [text.to_owned()];
    let document = PrintDocument::new(frame, LaneChoice::All, &texts, &Options::default());
    let document = document.map_err(|error| error.to_string())?;
    let found = document.expressions.into_iter().next();
    let found = found.ok_or("there is no answer")?;
    match (found.error, found.lanes) {
        (Some(error), _) => Err(error.message.to_string()),
        (None, Some(lanes)) => Ok((found.ty.map(|ty| ty.to_string()), lanes)),
        (None, None) => Err("there is no answer".to_owned()),
    }
}

/// The parts of a value in a lane, with the number of the first.
struct Found<'p> {
    first: u64,
    parts: Vec<Part<'p>>,
    more: u64,
}

/// A way from a value to its parts.
struct Walk<'s, 'p, 'a> {
    tree: Tree<'s, 'p, 'a>,
    types: TypeTable,
    start: Start<'p>,
    lane: Lane,
}

/// Where a way starts.
enum Start<'p> {
    Variable(Box<hetdwarf::inspect::VariableValue<'p>>),
    Bits(Bits, TypeId),
}

impl<'s, 'p, 'a> Walk<'s, 'p, 'a> {
    fn new(
        frame: &StopFrame<'s, 'p, 'a>,
        root: &Root,
        lane: Lane,
    ) -> Result<Walk<'s, 'p, 'a>, String> {
        let text = |error: hetdwarf::Error| error.to_string();
        let tree = Tree::of_frame(*frame).map_err(text)?;
        let mut types = TypeTable::default();
        let start = match root {
            Root::Variable(number) => {
                let values = frame.variables(&mut types).map_err(text)?;
                let value = values.into_iter().nth(*number);
                Start::Variable(Box::new(value.ok_or("there is no such variable")?))
            }
            Root::Expression(expression) => {
                let mut query = Query::new(*frame).map_err(text)?;
                let answer = query.evaluate(expression, &[lane]);
                let answer = answer.map_err(|error| error.to_string())?;
                let answer = answer
                    .lanes
                    .into_iter()
                    .next()
                    .ok_or("there is no answer")?;
                types = query.types().clone();
                let bits = answer.value.map_err(|error| error.to_string())?;
                Start::Bits(bits, answer.ty)
            }
            Root::Register(_) => return Err("a register has no parts".to_owned()),
        };
        Ok(Walk {
            tree,
            types,
            start,
            lane,
        })
    }

    /// Finds the parts of the part that a path leads to.
    ///
    /// * `elements`: which elements of an array.
    fn parts(
        &mut self,
        path: &[u64],
        elements: core::ops::Range<u64>,
    ) -> Result<Found<'p>, String> {
        let options = Options::default();
        let text = |error: hetdwarf::Error| error.to_string();
        let mut numbers = path.iter().copied();
        let mut next = numbers.next();
        let range = |next: Option<u64>| match next {
            Some(number) => number..number.saturating_add(1),
            None => elements.clone(),
        };
        let mut found: Parts<'p> = match &self.start {
            Start::Variable(value) => self
                .tree
                .of_variable(value, self.lane, &mut self.types, range(next), &options)
                .map_err(text)?,
            Start::Bits(bits, ty) => self
                .tree
                .of_bits(bits, *ty, self.lane, &mut self.types, range(next), &options)
                .map_err(text)?,
        };
        let mut ty = match &self.start {
            Start::Variable(value) => value.type_in(self.lane),
            Start::Bits(_, ty) => *ty,
        };
        while let Some(number) = next {
            // Of an array only the element was read; of a structure all members were.
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
                .of_part(&part, &mut self.types, range(next), &options)
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

fn is_array(types: &TypeTable, ty: TypeId) -> bool {
    matches!(types.resolved(ty).kind, TypeKind::Array { .. })
}

/// Returns true if values of a type have parts, or point to something.
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

/// The registers that a wave may have.
fn registers(frame: &StopFrame<'_, '_, '_>, is_vector: bool) -> Vec<Register> {
    let size = frame.wave_size();
    let stop: &Stop<'_, '_> = frame.stop();
    let processor = Some(stop.program().processor());
    let document =
        hetdwarf::report::RegistersDocument::new(0, u16::MAX, Some(size), processor, false);
    let rows = document.registers.iter();
    let of_size = rows.filter(|row| row.wave_size.is_none_or(|of| of == size.lanes()));
    let numbers = of_size.flat_map(|row| row.first..=row.last);
    let registers = numbers.map(Register).filter(|register| {
        let is_lanes = matches!(
            register.class(),
            Some(RegisterClass::Vgpr | RegisterClass::Agpr)
        );
        is_lanes == is_vector
    });
    registers.collect()
}

fn registers_of_lanes(
    frame: &StopFrame<'_, '_, '_>,
    number: u16,
    start: usize,
    count: usize,
) -> Result<Vec<Value>, String> {
    let bits = frame.read_register(Register(number), None);
    let bits = bits.map_err(|error| error.to_string())?;
    let lanes = dwords(&bits).into_iter().enumerate();
    let listed = lanes.skip(start).take(count).map(|(lane, dword)| {
        json!({ "name": format!("lane {lane}"), "value": format!("{dword:#x}"), "variablesReference": 0 })
    });
    Ok(listed.collect())
}

fn dwords(bits: &Bits) -> Vec<u32> {
    let dwords = bits.bytes.chunks_exact(4);
    dwords
        .map(|dword| u32::from_le_bytes(dword.try_into().unwrap_or_default()))
        .collect()
}

/// Returns a text for the values of a vector register.
fn of_lanes(lanes: &[u32]) -> String {
    match lanes {
        [first, rest @ ..] if rest.iter().all(|one| one == first) => format!("{first:#x}"),
        _ => {
            let mut texts: Vec<String> = lanes
                .iter()
                .take(4)
                .map(|one| format!("{one:#x}"))
                .collect();
            texts.push("…".to_owned());
            texts.join(", ")
        }
    }
}

fn hexadecimal(bits: &Bits) -> String {
    let mut number = [0; 16];
    for (to, from) in number.iter_mut().zip(&bits.bytes) {
        *to = *from;
    }
    format!("{:#x}", u128::from_le_bytes(number))
}
