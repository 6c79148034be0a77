//! Frames, the code objects that they are in, and where lanes are.

use serde_json::{Value, json};

use hetdwarf::inspect::{LaneInCaller, LanePlace, Stop, StopFrame};
use hetdwarf::report::FrameDocument;
use hetdwarf::untrusted::Untrusted;

use super::fields::set;
use super::handle::{FrameId, Handle};
use super::message::Request;
use super::session::{Answer, Session};

impl Session<'_> {
    /// Lists the frames of a wave, as many as are asked for.
    pub(super) fn stack_trace(&mut self, request: &Request) -> Answer {
        let wave = usize::try_from(request.needed("threadId")?).unwrap_or(0);
        let (start, count) = request.page("startFrame", "levels")?;
        self.current = FrameId { wave, frame: 0 };
        let module = self.wave(wave)?.code_object;
        if module.is_none() {
            return self.bare_frame(wave);
        }
        self.with_stop(wave, |session, stop| {
            let frames = stop.frames();
            let total = frames.len();
            let page = frames.iter().skip(start).take(count);
            let mut listed = Vec::new();
            for frame in page {
                listed.push(session.frame(wave, frame, module)?);
            }
            Ok(json!({ "stackFrames": listed, "totalFrames": total }))
        })
    }

    /// The frame of a wave of which only the pc is known.
    fn bare_frame(&mut self, wave: usize) -> Answer {
        let id = self
            .handles
            .number(Handle::Frame(FrameId { wave, frame: 0 }))?;
        let document = self.wave(wave)?;
        let pc = format!("{:#x}", document.pc.0);
        let name = document.function.clone();
        let frame = json!({
            "id": id,
            "name": name.unwrap_or_else(|| Untrusted::from(pc.clone())),
            "line": 0,
            "column": 0,
            "instructionPointerReference": pc,
            "presentationHint": "subtle",
        });
        Ok(json!({ "stackFrames": [frame], "totalFrames": 1 }))
    }

    fn frame(
        &mut self,
        wave: usize,
        frame: &StopFrame<'_, '_, '_>,
        module: Option<usize>,
    ) -> Answer {
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
        let mut listed = json!({
            "id": id,
            "name": name,
            "line": document.line.unwrap_or(0),
            "column": document.column.unwrap_or(0),
            "instructionPointerReference": pc,
        });
        match self.source_of(frame, &document)? {
            Some(source) => set(&mut listed, "source", source),
            None => set(&mut listed, "presentationHint", "subtle"),
        }
        if let Some(module) = module {
            set(&mut listed, "moduleId", module);
        }
        Ok(listed)
    }

    /// Lists the code objects.
    pub(super) fn modules(&self, request: &Request) -> Answer {
        let (start, count) = request.page("startModule", "moduleCount")?;
        let objects = self.document.code_objects.iter().enumerate();
        let listed = objects.skip(start).take(count).map(|(index, object)| {
            let file = object.file.as_ref().unwrap_or(&object.uri);
            let raw = file.raw();
            let name = raw.rsplit('/').next().unwrap_or(raw);
            json!({
                "id": index,
                "name": Untrusted::from(name.to_owned()),
                "path": file,
                "version": object.target,
                "symbolStatus": if object.found { "found" } else { "not found" },
                "addressRange": format!("{:#x}", object.load_address.0),
            })
        });
        let listed: Vec<Value> = listed.collect();
        Ok(json!({ "modules": listed, "totalModules": self.document.code_objects.len() }))
    }

    /// Says where the lanes of a frame are, for the view of lanes.
    pub(super) fn lanes(&mut self, request: &Request) -> Answer {
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
                let mut one = json!({ "lane": lane.0, "state": place.name() });
                if let Some(item) = stop.wave().work_item(lane) {
                    set(&mut one, "workItem", json!(item));
                }
                let place = match (place, caller) {
                    (LanePlace::Waiting { pc, .. }, _) => Some((frame, *pc)),
                    (_, Some(LaneInCaller { level, pc, .. })) => {
                        stop.call_frame(level).map(|caller| (caller, pc))
                    }
                    (_, None) => None,
                };
                if let Some((frame, pc)) = place {
                    set(&mut one, "frame", frame.call_index());
                    session.add_place(&frame.for_waiting(pc, 0).innermost(), &mut one)?;
                }
                listed.push(one);
            }
            Ok(json!({ "lanes": listed, "focus": focus }))
        })
    }

    /// Adds to what is said of a lane where it goes on.
    fn add_place(&mut self, there: &StopFrame<'_, '_, '_>, one: &mut Value) -> Result<(), String> {
        let document = FrameDocument::new(there).map_err(|error| error.to_string())?;
        set(one, "pc", format!("{:#x}", document.pc.0));
        set(one, "file", json!(document.file));
        set(one, "line", json!(document.line));
        if let Some(source) = self.source_of(there, &document)? {
            set(one, "source", source);
        }
        Ok(())
    }
}

/// Returns a frame of a stop.
pub(super) fn frame_of<'s, 'p, 'a>(
    stop: &'s Stop<'p, 'a>,
    id: FrameId,
) -> Result<StopFrame<'s, 'p, 'a>, String> {
    let frame = stop.frame(id.frame);
    frame.ok_or_else(|| format!("wave {} has no frame {}", id.wave, id.frame))
}
