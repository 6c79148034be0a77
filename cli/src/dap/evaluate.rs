//! Expressions of the user, commands of the console, and how they can go on.

use std::rc::Rc;

use serde_json::{Value, json};

use hetdwarf::untrusted::Untrusted;

use super::fields::{field, set};
use super::handle::{FrameId, Root};
use super::message::Request;
use super::session::{Answer, Session};
use super::stack::frame_of;
use super::thread::name;
use super::variables::{Shown, answer, variables};

/// How many waves a command lists.
const MOST_WAVES: usize = 200;

/// The commands of the console, each with what it does.
const COMMANDS: [(&str, &str); 5] = [
    ("waves", "the groups of waves, and the waves of each"),
    ("lanes", "where the lanes of the frame are"),
    (
        "wave N",
        "see wave N: what is asked for without a frame is asked of it",
    ),
    (
        "lane N",
        "see variables in lane N; `lane` alone: in all lanes",
    ),
    (
        "help",
        "this list; anything else is an expression, as `hetdwarf print` takes it",
    ),
];

impl Session<'_> {
    /// Evaluates an expression in a frame, or does what a command says.
    pub(super) fn evaluate(&mut self, request: &Request) -> Answer {
        let text = request.text("expression")?;
        let text = text.ok_or("expression: it is missing")?.trim();
        let id = match request.integer("frameId")? {
            Some(number) => self.handles.frame(number)?,
            None => self.current,
        };
        let context = request.text("context")?;
        if context == Some("repl")
            && let Some(answer) = self.command(text, id)
        {
            let result = answer?;
            return Ok(json!({ "result": result, "variablesReference": 0 }));
        }
        self.current = id;
        self.with_stop(id.wave, |session, stop| {
            let frame = frame_of(stop, id)?;
            let (ty, lanes) = answer(&frame, text)?;
            let shown = Shown {
                name: text.to_owned(),
                ty,
                lanes: &lanes,
                expression: None,
            };
            let root = Root::Expression(Rc::from(text));
            let found = match context {
                // A watch of lanes is about all of them, whichever is in focus.
                Some("lanes") => session.shown_in_all(id, root, &shown)?,
                _ => session.shown(&frame, id, root, &shown)?,
            };
            let mut body = json!({ "type": field(&found, "type") });
            set(&mut body, "result", field(&found, "value").clone());
            for name in ["variablesReference", "indexedVariables"] {
                if let Some(value) = found.get(name) {
                    set(&mut body, name, value.clone());
                }
            }
            Ok(body)
        })
    }

    /// Does what a command says; None if a text is none.
    fn command(&mut self, text: &str, id: FrameId) -> Option<Result<String, String>> {
        let mut words = text.split_whitespace();
        let answer = match (words.next()?, words.next(), words.next()) {
            ("help", None, None) => {
                let lines = COMMANDS.map(|(command, what)| format!("{command:8} {what}"));
                Ok(lines.join("\n"))
            }
            ("waves", None, None) => Ok(self.waves_text()),
            ("lanes", None, None) => self.lanes_text(id),
            ("wave", Some(number), None) => {
                let number: usize = number.parse().ok()?;
                self.see_wave(number)
                    .and_then(|()| self.wave(number).map(name))
            }
            ("lane", None, None) => {
                let all = "all lanes".to_owned();
                self.see_lane(id.wave, None).map(|()| all)
            }
            ("lane", Some(number), None) => {
                let number: i64 = number.parse().ok()?;
                let one = format!("lane {number} of wave {}", id.wave);
                self.see_lane(id.wave, Some(number)).map(|()| one)
            }
            (_, _, _) => return None,
        };
        Some(answer)
    }

    fn waves_text(&self) -> String {
        let mut lines = vec![self.document.verdict.text.to_string()];
        let mut left = MOST_WAVES;
        for group in &self.document.groups {
            let stack: Vec<String> = group.stack.iter().map(ToString::to_string).collect();
            lines.push(format!(
                "{} {}: {}",
                group.waves.len(),
                group.state.name(),
                stack.join(" ← ")
            ));
            for wave in group.waves.iter().take(left) {
                if let Ok(wave) = self.wave(*wave) {
                    lines.push(format!("  {:4} {}", wave.index, name(wave)));
                }
            }
            left = left.saturating_sub(group.waves.len());
        }
        lines.join("\n")
    }

    fn lanes_text(&mut self, id: FrameId) -> Result<String, String> {
        self.with_stop(id.wave, |_, stop| {
            let frame = frame_of(stop, id)?;
            let mut out = Vec::new();
            crate::lane_places::print_where(&frame, usize::MAX, &mut out)
                .map_err(|error| error.to_string())?;
            let mut plain = Vec::new();
            {
                use std::io::Write as _;
                let mut writer = crate::Plain::new(&mut plain);
                writer.write_all(&out).map_err(|error| error.to_string())?;
            }
            let text = String::from_utf8_lossy(&plain).trim_end().to_owned();
            Ok(match text.is_empty() {
                true => "all lanes are active here".to_owned(),
                false => text,
            })
        })
    }

    /// Lists how a text of the console can go on.
    pub(super) fn completions(&mut self, request: &Request) -> Answer {
        let text = request.text("text")?.ok_or("text: it is missing")?;
        let column = request.needed("column")?;
        let id = match request.integer("frameId")? {
            Some(number) => self.handles.frame(number)?,
            None => self.current,
        };
        // Columns count from 1, in units of UTF-16.
        let units = usize::try_from(column.saturating_sub(1)).unwrap_or(0);
        let mut left = units;
        let before: String = text
            .chars()
            .take_while(|one| match left.checked_sub(one.len_utf16()) {
                Some(rest) => {
                    left = rest;
                    true
                }
                None => false,
            })
            .collect();
        let is_part = |one: char| one.is_alphanumeric() || one == '_';
        let start = before.trim_end_matches(is_part).len();
        let word = before.get(start..).unwrap_or_default().to_owned();
        let mut targets: Vec<Value> = Vec::new();
        if start == 0 {
            let commands = COMMANDS.iter().map(|(command, _)| *command);
            let names = commands.filter_map(|command| command.split(' ').next());
            let fitting = names.filter(|name| name.starts_with(&word));
            targets.extend(fitting.map(|name| json!({ "label": name, "type": "keyword" })));
        }
        let names = self.with_stop(id.wave, |_, stop| variables(&frame_of(stop, id)?));
        let mut seen = std::collections::BTreeSet::new();
        for variable in names.unwrap_or_default() {
            let name = variable.name.raw().to_owned();
            if !name.is_empty() && name.starts_with(&word) && seen.insert(name.clone()) {
                let label = Untrusted::from(name);
                targets.push(json!({ "label": label, "type": "variable" }));
            }
        }
        Ok(json!({ "targets": targets }))
    }
}
