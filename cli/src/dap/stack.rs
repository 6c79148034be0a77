//! Lists frames, their code objects, and the positions of lanes.

use hetdwarf::inspect::{LaneInCaller, LanePlace, Stop, StopFrame};
use hetdwarf::report::{CoreObjectDocument, FrameDocument};
use hetdwarf::untrusted::Untrusted;

use super::handle::{FrameId, Handle};
use super::message::Request;
use super::protocol::{Body, LanePlace as LaneEntry, LaneThere, Module, StackFrame};
use super::session::{Answer, Session};

impl<'s> Session<'s> {
    /// Lists the requested frames of a wave.
    pub(super) fn stack_trace(&mut self, request: &Request) -> Answer<'s> {
        let wave = usize::try_from(request.needed("threadId")?).unwrap_or(0);
        let (start, count) = request.page("startFrame", "levels")?;
        self.current = FrameId { wave, frame: 0 };
        let module = self.wave(wave)?.code_object;
        self.with_wave(wave, |session, _, stop| {
            let Some(stop) = stop else {
                return session.bare_frame(wave, start);
            };
            let frames = stop.frames();
            let total = frames.len();
            let page = frames.iter().skip(start).take(count);
            let mut listed = Vec::new();
            for frame in page {
                listed.push(session.frame(wave, frame, module)?);
            }
            Ok(Body::StackTrace {
                stack_frames: listed,
                total_frames: total,
            })
        })
    }

    /// Returns the only frame of a wave of which nothing but the pc is known.
    fn bare_frame(&mut self, wave: usize, start: usize) -> Answer<'s> {
        let id = self
            .handles
            .number(Handle::Frame(FrameId { wave, frame: 0 }))?;
        let document = self.wave(wave)?;
        let pc = format!("{:#x}", document.pc.0);
        let name = document.function.clone();
        let frame = StackFrame {
            id,
            name: name.map_or_else(|| pc.clone(), |name| name.to_string()),
            source: None,
            line: 0,
            column: 0,
            instruction_pointer_reference: pc,
            module_id: None,
            presentation_hint: Some("subtle"),
        };
        Ok(Body::StackTrace {
            stack_frames: [frame].into_iter().skip(start).collect(),
            total_frames: 1,
        })
    }

    fn frame(
        &mut self,
        wave: usize,
        frame: &StopFrame<'_, '_, '_>,
        module: Option<usize>,
    ) -> Result<StackFrame, String> {
        let document = FrameDocument::new(frame).map_err(|error| error.to_string())?;
        let id = self.handles.number(Handle::Frame(FrameId {
            wave,
            frame: frame.index(),
        }))?;
        let pc = format!("{:#x}", document.pc.0);
        let name = document.function.as_ref().map(ToString::to_string);
        let name = match (name, document.symbol_offset) {
            (Some(name), Some(offset)) if offset > 0 => format!("{name}+{offset:#x}"),
            (Some(name), _) => name,
            (None, _) => pc.clone(),
        };
        let source = self.source_of(frame)?;
        let lane = self.focus.get(&wave).copied();
        let format = self.format;
        let of_frame = FrameId {
            wave,
            frame: frame.index(),
        };
        let variables = match format.parameters {
            // A frame is shown even if its variables cannot be read.
            true => self.kept_variables(frame, of_frame).ok(),
            false => None,
        };
        let object = module.and_then(|module| self.document.code_objects.get(module));
        let object = object.map(module_name);
        let object = object.as_ref().map(ToString::to_string);
        let line = document.line.map(|line| self.numbering.line(line));
        let variables = variables.as_deref();
        let name = format.frame_name(name, variables, lane, line, object.as_deref());
        Ok(StackFrame {
            id,
            name,
            presentation_hint: source.is_none().then_some("subtle"),
            source,
            line: document.line.map_or(0, |line| self.numbering.line(line)),
            column: document
                .column
                .map_or(0, |column| self.numbering.column(column)),
            instruction_pointer_reference: pc,
            module_id: module,
        })
    }

    /// Lists the code objects.
    pub(super) fn modules(&self, request: &Request) -> Answer<'s> {
        let (start, count) = request.page("startModule", "moduleCount")?;
        let objects = self.document.code_objects.iter().enumerate();
        let listed = objects.skip(start).take(count).map(|(index, object)| {
            let file = object.file.as_ref().unwrap_or(&object.uri);
            Module {
                id: index,
                name: module_name(object),
                path: file.clone(),
                version: object.target.clone(),
                symbol_status: if object.found { "found" } else { "not found" },
                address_range: format!("{:#x}", object.load_address.0),
            }
        });
        Ok(Body::Modules {
            modules: listed.collect(),
            total_modules: self.document.code_objects.len(),
        })
    }

    /// Lists the positions of the lanes of a frame, for the view of lanes.
    pub(super) fn lanes(&mut self, request: &Request) -> Answer<'s> {
        let id = match request.integer("frameId")? {
            Some(number) => self.handles.frame(number)?,
            None => {
                let wave = usize::try_from(request.needed("threadId")?).unwrap_or(0);
                FrameId { wave, frame: 0 }
            }
        };
        let focus = self.focus.get(&id.wave).map(|lane| lane.0);
        self.with_stop(id.wave, |session, stop| {
            let frame = frame_of(stop, id)?;
            let found = frame.lane_pcs().map_err(|error| error.to_string())?;
            let callers = frame.lanes_in_callers(&found);
            let lanes = frame.wave_size().all_lanes();
            let places = lanes.zip(found.places().iter().zip(callers));
            let mut listed = Vec::new();
            for (lane, (place, caller)) in places {
                let state = place.name();
                let place = match (place, caller) {
                    (LanePlace::Waiting { pc, .. }, _) => Some((frame, *pc)),
                    (_, Some(LaneInCaller { level, pc, .. })) => {
                        stop.call_frame(level).map(|caller| (caller, pc))
                    }
                    (_, None) => None,
                };
                let there = match place {
                    Some((frame, pc)) => {
                        let there = frame.for_waiting(pc, 0).innermost();
                        Some(session.there(&there, frame.call_index())?)
                    }
                    None => None,
                };
                listed.push(LaneEntry {
                    lane: lane.0,
                    state,
                    work_item: stop.wave().work_item(lane),
                    there,
                });
            }
            Ok(Body::Lanes {
                lanes: listed,
                focus,
            })
        })
    }

    /// Describes the position where a lane continues.
    fn there(&mut self, there: &StopFrame<'_, '_, '_>, frame: usize) -> Result<LaneThere, String> {
        let document = FrameDocument::new(there).map_err(|error| error.to_string())?;
        let source = self.source_of(there)?;
        Ok(LaneThere {
            frame,
            pc: format!("{:#x}", document.pc.0),
            file: document.file,
            line: document.line,
            source,
        })
    }
}

/// Returns the name of a code object, which is the name of its file without folders.
fn module_name(object: &CoreObjectDocument) -> Untrusted<'static> {
    let raw = object.file.as_ref().unwrap_or(&object.uri).raw();
    let name = raw.rsplit('/').next().unwrap_or(raw);
    Untrusted::from(name.to_owned())
}

/// Returns a frame of a stop.
pub(super) fn frame_of<'s, 'p, 'a>(
    stop: &'s Stop<'p, 'a>,
    id: FrameId,
) -> Result<StopFrame<'s, 'p, 'a>, String> {
    let frame = stop.frame(id.frame);
    frame.ok_or_else(|| format!("wave {} has no frame {}", id.wave, id.frame))
}
