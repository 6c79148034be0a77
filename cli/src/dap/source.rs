//! Source files: those in folders that the user named, and those that the debugging information carries.

use serde_json::{Value, json};

use hetdwarf::inspect::StopFrame;
use hetdwarf::report::FrameDocument;
use hetdwarf::untrusted::Untrusted;

use super::fields::field;
use super::handle::Handle;
use super::message::Request;
use super::session::{Answer, Session, SourceFile};

impl Session<'_> {
    /// Returns the source of a frame; None if its text is not known.
    pub(super) fn source_of(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
        document: &FrameDocument,
    ) -> Result<Option<Value>, String> {
        let at = frame.description().map_err(|error| error.to_string())?;
        let (Some(unit), Some(file), Some(line)) = (at.unit, &at.file, at.line) else {
            return Ok(None);
        };
        let stop = frame.stop();
        let info = stop.program().info();
        let (sources, texts) = (&self.sources, &mut self.texts);
        let mut local = None;
        let read = |path: &str, folder: Option<&str>| Some(sources.bytes(path, folder)?.to_vec());
        let text = texts.want(info, unit, file, line, &read, stop.meter());
        let Some(found) = self.texts.files().get(text) else {
            return Ok(None);
        };
        if found.lines().next().is_none() {
            return Ok(None);
        }
        if let Some(path) = document.file.as_ref() {
            local = self.sources.path(path.raw(), None);
        }
        let number = match self.files.iter().position(|file| file.text == text) {
            Some(number) => number,
            None => {
                let path = found.path().clone();
                self.files.push(SourceFile { path, text, local });
                self.files.len().saturating_sub(1)
            }
        };
        self.described(number).map(Some)
    }

    fn described(&mut self, number: usize) -> Answer {
        let Some(file) = self.files.get(number) else {
            return Err("there is no such source".to_owned());
        };
        let raw = file.path.raw();
        let name = Untrusted::from(raw.rsplit('/').next().unwrap_or(raw).to_owned());
        if let Some(local) = &file.local {
            return Ok(json!({ "name": name, "path": local }));
        }
        let origin = file.path.clone();
        let reference = self.handles.number(Handle::Source(number))?;
        Ok(json!({ "name": name, "sourceReference": reference, "origin": origin }))
    }

    /// Returns the text of a source.
    pub(super) fn source_text(&mut self, request: &Request) -> Answer {
        let number = match request.integer("sourceReference")? {
            Some(number) if number > 0 => number,
            _ => field(field(&request.arguments, "source"), "sourceReference")
                .as_i64()
                .ok_or("sourceReference: it is missing")?,
        };
        let Handle::Source(number) = self.handles.get(number)? else {
            return Err(format!("reference {number} is no source"));
        };
        let file = self
            .files
            .get(*number)
            .and_then(|file| self.texts.files().get(file.text));
        let text = file.ok_or("the source is not known")?;
        let mut content = String::new();
        for (_, line) in text.lines() {
            content.push_str(line);
            content.push('\n');
        }
        Ok(json!({ "content": content }))
    }

    /// Lists the sources that frames were in so far.
    pub(super) fn loaded_sources(&mut self) -> Value {
        let all = 0..self.files.len();
        let listed: Vec<Value> = all
            .filter_map(|number| self.described(number).ok())
            .collect();
        json!({ "sources": listed })
    }
}
