//! Lists scopes and variables. The children of a scope are its variables, the children of a variable are its lanes, and the children of a
//! lane are the parts of its value. If the user chose a lane, a variable directly has its value in this lane.

use std::rc::Rc;

use hetdwarf::arch::Lane;
use hetdwarf::debug_info::VariableKind;
use hetdwarf::display::Options;
use hetdwarf::inspect::StopFrame;
use hetdwarf::report::{
    LaneChoice, LaneDocument, PrintDocument, VariableDocument, VarsDocument, VarsRequest,
};
use hetdwarf::wave::Wave;

use super::handle::{FrameId, Handle, Root, ScopeKind};
use super::message::Request;
use super::parts::{PartsOf, Walk};
use super::protocol::{Body, Scope, Variable};
use super::registers::Registers;
use super::session::{Answer, Session};
use super::stack::frame_of;
use super::value::{lane_text, summary};

/// Something with a value in each lane.
pub(super) struct Shown<'d> {
    pub(super) name: String,
    pub(super) ty: Option<String>,
    pub(super) lanes: &'d [LaneDocument],
    /// The expression that yields this value.
    pub(super) expression: Option<String>,
}

impl Shown<'_> {
    fn with_value(&self, value: String) -> Variable {
        Variable {
            name: self.name.clone(),
            value,
            ty: self.ty.clone(),
            evaluate_name: self.expression.clone(),
            ..Variable::default()
        }
    }
}

/// The scopes of a frame: for each, its kind, its name, the protocol's hint, and true if it is expensive to list.
const SCOPES: [(ScopeKind, &str, Option<&str>, bool); 4] = [
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
];

impl<'s> Session<'s> {
    /// Lists the groups of variables of a frame.
    pub(super) fn scopes(&mut self, request: &Request) -> Answer<'s> {
        let id = self.handles.frame(request.needed("frameId")?)?;
        self.current = id;
        let mut scopes = Vec::new();
        for (kind, name, presentation_hint, expensive) in SCOPES {
            scopes.push(Scope {
                name,
                presentation_hint,
                variables_reference: self.handles.number(Handle::Scope(id, kind))?,
                expensive,
            });
        }
        Ok(Body::Scopes { scopes })
    }

    /// Lists the requested children of a scope, a variable or a value.
    pub(super) fn variables(&mut self, request: &Request) -> Answer<'s> {
        let handle = self.handles.get(request.needed("variablesReference")?)?;
        let handle = handle.clone();
        let page = request.page("start", "count")?;
        let id = match &handle {
            Handle::Scope(id, _) | Handle::Lanes(id, _) | Handle::Parts(id, ..) => *id,
            Handle::Frame(_) | Handle::Source(_) => {
                return Err("variablesReference: it does not refer to a variable".to_owned());
            }
        };
        self.current = id;
        let variables = self.with_wave(id.wave, |session, wave, stop| match stop {
            Some(stop) => session.children(&frame_of(stop, id)?, id, &handle, page),
            None => session.children_of_wave(wave, id, &handle, page),
        })?;
        Ok(Body::Variables { variables })
    }

    fn children(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        id: FrameId,
        handle: &Handle,
        page: (usize, usize),
    ) -> Result<Vec<Variable>, String> {
        let registers = Registers::Frame(frame);
        match handle {
            Handle::Scope(_, ScopeKind::Locals) => {
                self.scope(frame, id, page, |kind| kind != VariableKind::Global)
            }
            Handle::Scope(_, ScopeKind::Globals) => {
                self.scope(frame, id, page, |kind| kind == VariableKind::Global)
            }
            Handle::Scope(_, ScopeKind::ScalarRegisters) => {
                self.registers(&registers, id, false, page)
            }
            Handle::Scope(_, ScopeKind::VectorRegisters) => {
                self.registers(&registers, id, true, page)
            }
            Handle::Lanes(_, Root::Register(number)) => registers.lanes(*number, page),
            Handle::Lanes(_, root) => self.lanes_of(frame, id, root, page),
            Handle::Parts(_, root, lane, path) => {
                let of = PartsOf {
                    id,
                    root,
                    lane: *lane,
                    path,
                };
                self.parts_of(frame, &of, page)
            }
            Handle::Frame(_) | Handle::Source(_) => Ok(Vec::new()),
        }
    }

    /// Lists the registers of a wave. Nothing else is known if its code object is missing.
    fn children_of_wave(
        &mut self,
        wave: Option<&dyn Wave>,
        id: FrameId,
        handle: &Handle,
        page: (usize, usize),
    ) -> Result<Vec<Variable>, String> {
        let Some(wave) = wave else {
            return Ok(Vec::new());
        };
        let registers = Registers::Wave(wave);
        match handle {
            Handle::Scope(_, ScopeKind::ScalarRegisters) => {
                self.registers(&registers, id, false, page)
            }
            Handle::Scope(_, ScopeKind::VectorRegisters) => {
                self.registers(&registers, id, true, page)
            }
            Handle::Lanes(_, Root::Register(number)) => registers.lanes(*number, page),
            Handle::Frame(_)
            | Handle::Scope(..)
            | Handle::Lanes(..)
            | Handle::Parts(..)
            | Handle::Source(_) => Ok(Vec::new()),
        }
    }

    /// Returns the variables of a frame, in every lane and in the format of the current request.
    pub(super) fn kept_variables(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        id: FrameId,
    ) -> Result<Rc<[VariableDocument]>, String> {
        let format = self.format;
        self.kept
            .variables((id, format.hex), || variables(frame, format.options()))
    }

    fn scope(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        id: FrameId,
        (start, count): (usize, usize),
        is_wanted: impl Fn(VariableKind) -> bool,
    ) -> Result<Vec<Variable>, String> {
        let all = self.kept_variables(frame, id)?;
        let all = all.iter().enumerate();
        let wanted = all.filter(|(_, one)| is_wanted(one.kind));
        let mut listed = Vec::new();
        let mut walk = None;
        for (number, variable) in wanted.skip(start).take(count) {
            let shown = Shown {
                name: variable.name.to_string(),
                ty: Some(variable.ty.to_string()),
                lanes: &variable.lanes,
                expression: Some(variable.name.raw().to_owned()),
            };
            let root = Root::Variable(number);
            listed.push(self.shown(frame, &mut walk, id, root, &shown)?);
        }
        Ok(listed)
    }

    /// Describes a value by the lane that the user chose, or else by all lanes.
    ///
    /// * `walk`: reused for all variables of a frame; None before the first.
    pub(super) fn shown<'f, 'p, 'a>(
        &mut self,
        frame: &StopFrame<'f, 'p, 'a>,
        walk: &mut Option<Walk<'f, 'p, 'a>>,
        id: FrameId,
        root: Root,
        shown: &Shown<'_>,
    ) -> Result<Variable, String> {
        let focus = self.focus.get(&id.wave).copied();
        let lane = focus.and_then(|focus| shown.lanes.iter().find(|one| one.lane == focus.0));
        let Some(lane) = lane else {
            return self.shown_in_all(id, root, shown);
        };
        let mut one = shown.with_value(lane_text(lane));
        if lane.is_readable() {
            let of = PartsOf {
                id,
                root: &root,
                lane: lane.lane,
                path: &Rc::from([]),
            };
            let walk = started(walk, || Walk::new(frame, &root, &[Lane(lane.lane)]))?;
            self.expandable(walk, &of, &mut one)?;
        }
        Ok(one)
    }

    /// Describes a value by all of its lanes.
    pub(super) fn shown_in_all(
        &mut self,
        id: FrameId,
        root: Root,
        shown: &Shown<'_>,
    ) -> Result<Variable, String> {
        let mut one = shown.with_value(summary(shown.lanes));
        one.variables_reference = self.handles.number(Handle::Lanes(id, root))?;
        one.indexed_variables = Some(shown.lanes.len() as u64);
        Ok(one)
    }

    fn lanes_of(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        id: FrameId,
        root: &Root,
        (start, count): (usize, usize),
    ) -> Result<Vec<Variable>, String> {
        let (all, of_expression);
        let lanes: &[LaneDocument] = match root {
            Root::Variable(number) => {
                all = self.kept_variables(frame, id)?;
                &all.get(*number).ok_or("there is no such variable")?.lanes
            }
            Root::Expression(text) => {
                of_expression = answer(frame, text, &self.format.options())?.1;
                &of_expression
            }
            Root::Register(_) => &[],
        };
        let page = lanes.iter().skip(start).take(count);
        let readable = page.clone().filter(|lane| lane.is_readable());
        let readable: Vec<Lane> = readable.map(|lane| Lane(lane.lane)).collect();
        let mut listed = Vec::new();
        let mut walk = None;
        for lane in page {
            let name = match lane.work_item {
                Some([x, y, z]) => format!("lane {} ({x},{y},{z})", lane.lane),
                None => format!("lane {}", lane.lane),
            };
            let mut one = Variable {
                name,
                value: lane_text(lane),
                ..Variable::default()
            };
            if lane.is_readable() {
                let of = PartsOf {
                    id,
                    root,
                    lane: lane.lane,
                    path: &Rc::from([]),
                };
                let walk = started(&mut walk, || Walk::new(frame, root, &readable))?;
                self.expandable(walk, &of, &mut one)?;
            }
            listed.push(one);
        }
        Ok(listed)
    }
}

/// Returns the existing value, or makes it.
fn started<T>(
    there: &mut Option<T>,
    make: impl FnOnce() -> Result<T, String>,
) -> Result<&mut T, String> {
    if there.is_none() {
        *there = Some(make()?);
    }
    there.as_mut().ok_or_else(String::new)
}

/// Returns the variables of a frame, in every lane.
fn variables(
    frame: &StopFrame<'_, '_, '_>,
    options: Options,
) -> Result<Vec<VariableDocument>, String> {
    let request = VarsRequest::default()
        .lanes(LaneChoice::All)
        .display(options);
    let document = VarsDocument::new(frame, &request).map_err(|error| error.to_string())?;
    let frames = document.frames.into_iter();
    Ok(frames.flat_map(|frame| frame.variables).collect())
}

/// Evaluates an expression in every lane of a frame. Returns its type and its values.
pub(super) fn answer(
    frame: &StopFrame<'_, '_, '_>,
    text: &str,
    options: &Options,
) -> Result<(Option<String>, Vec<LaneDocument>), String> {
    let texts = [text.to_owned()];
    let document = PrintDocument::new(frame, LaneChoice::All, &texts, options);
    let document = document.map_err(|error| error.to_string())?;
    let found = document.expressions.into_iter().next();
    let found = found.ok_or("there is no answer")?;
    match (found.error, found.lanes) {
        (Some(error), _) => Err(error.message.to_string()),
        (None, Some(lanes)) => Ok((found.ty.map(|ty| ty.to_string()), lanes)),
        (None, None) => Err("there is no answer".to_owned()),
    }
}
