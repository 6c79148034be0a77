//! Provides source files: from the folders that the user named, and from the debugging information.

use hetdwarf::debug_info::{SourceFile as NamedFile, UnitId};
use hetdwarf::inspect::{Stop, StopFrame};
use hetdwarf::untrusted::Untrusted;

use super::handle::Handle;
use super::message::{Request, field};
use super::protocol::{Body, Event, Source};
use super::session::{Answer, Session, SourceFile};

impl<'s> Session<'s> {
    /// Returns the source of a frame, if its file is known.
    pub(super) fn source_of(
        &mut self,
        frame: &StopFrame<'_, '_, '_>,
    ) -> Result<Option<Source>, String> {
        let at = frame.description().map_err(|error| error.to_string())?;
        let (Some(unit), Some(file), Some(line)) = (at.unit, &at.file, at.line) else {
            return Ok(None);
        };
        self.source_at(frame.stop(), unit, file, line)
    }

    /// Returns the source of a line. Editors show only frames that have a source, so a missing text is replaced by a message.
    pub(super) fn source_at(
        &mut self,
        stop: &Stop<'_, '_>,
        unit: UnitId,
        file: &NamedFile,
        line: u64,
    ) -> Result<Option<Source>, String> {
        let info = stop.program().info();
        let (sources, texts) = (&self.sources, &mut self.texts);
        let read = |path: &str, folder: Option<&str>| Some(sources.bytes(path, folder)?.to_vec());
        let text = texts.want(info, unit, file, line, &read, stop.meter());
        let Some(found) = self.texts.files().get(text) else {
            return Ok(None);
        };
        let is_found = found.lines().next().is_some();
        let number = match self.files.iter().position(|file| file.text == text) {
            Some(number) => number,
            None => {
                let folder = info.unit_info(unit).ok().and_then(|unit| unit.comp_dir);
                self.files.push(SourceFile {
                    path: found.path().clone(),
                    text,
                    local: self.sources.path(&file.path, folder.as_deref()),
                    warned: 0,
                });
                let number = self.files.len() - 1;
                if is_found {
                    let source = self.described(number)?;
                    self.events.push(Event::LoadedSource {
                        reason: "new",
                        source,
                    });
                }
                number
            }
        };
        self.warn(number);
        self.described(number).map(Some)
    }

    /// Warns the user about a file once.
    fn warn(&mut self, number: usize) {
        let Some(file) = self.files.get_mut(number) else {
            return;
        };
        let Some(text) = self.texts.files().get(file.text) else {
            return;
        };
        let warnings = text.warnings(&file.path);
        if warnings.len() > file.warned {
            file.warned = warnings.len();
            self.events.push(Event::Output {
                category: "stderr",
                output: format!("{}\n", warnings.join("\n")),
            });
        }
    }

    fn described(&mut self, number: usize) -> Result<Source, String> {
        let Some(file) = self.files.get(number) else {
            return Err("there is no such source".to_owned());
        };
        let raw = file.path.raw();
        let name = Untrusted::from(raw.rsplit('/').next().unwrap_or(raw).to_owned());
        if let Some(local) = &file.local {
            return Ok(Source {
                name,
                path: Some(local.clone()),
                source_reference: None,
                origin: None,
            });
        }
        let origin = file.path.clone();
        let reference = self.handles.number(Handle::Source(number))?;
        Ok(Source {
            name,
            path: None,
            source_reference: Some(reference),
            origin: Some(origin),
        })
    }

    /// Returns the text of a source.
    pub(super) fn source_text(&mut self, request: &Request) -> Answer<'s> {
        let number = match request.integer("sourceReference")? {
            Some(number) if number > 0 => number,
            _ => field(field(&request.arguments, "source"), "sourceReference")
                .as_i64()
                .ok_or("sourceReference: it is missing")?,
        };
        let Handle::Source(number) = self.handles.get(number)? else {
            return Err(format!("reference {number} is not a source"));
        };
        let file = self
            .files
            .get(*number)
            .and_then(|file| self.texts.files().get(file.text));
        let text = file.ok_or("the source is unknown")?;
        if text.lines().next().is_none() {
            // Without a text, VS Code stops showing the frames of this file.
            let path = text.path();
            let content =
                format!("{path} was not found: give the folder that it is in by \"sourceDir\".\n");
            return Ok(Body::Source { content });
        }
        let mut content = String::new();
        for (_, line) in text.lines() {
            content.push_str(line);
            content.push('\n');
        }
        Ok(Body::Source { content })
    }

    /// Lists the sources of all frames so far.
    pub(super) fn loaded_sources(&mut self) -> Body<'s> {
        let is_found = |file: &SourceFile| {
            let text = self.texts.files().get(file.text);
            text.is_some_and(|text| text.lines().next().is_some())
        };
        let all = self.files.iter().enumerate();
        let all: Vec<usize> = all
            .filter_map(|(number, file)| is_found(file).then_some(number))
            .collect();
        let sources = all
            .into_iter()
            .filter_map(|number| self.described(number).ok());
        Body::LoadedSources {
            sources: sources.collect(),
        }
    }
}
