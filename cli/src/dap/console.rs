//! Commands of the console.

use hetdwarf::untrusted::Untrusted;

use super::handle::FrameId;
use super::session::Session;
use super::stack::frame_of;
use super::thread::name;

/// The most waves that a command lists.
const MOST_WAVES: usize = 200;

/// The commands of the console, each with its effect.
pub(super) const COMMANDS: [(&str, &str); 5] = [
    ("waves", "list the groups of waves, with their waves"),
    ("lanes", "show where the lanes of the frame are"),
    ("wave N", "select wave N for requests without a frame"),
    (
        "lane N",
        "show variables in lane N; `lane` alone: in all lanes",
    ),
    (
        "help",
        "show this list; any other text is evaluated as by `hetdwarf print`",
    ),
];

impl Session<'_> {
    /// Executes a command of the console. Returns None if the text is not a command.
    pub(super) fn command(&mut self, text: &str, id: FrameId) -> Option<Result<String, String>> {
        let mut words = text.split_whitespace();
        let answer = match (words.next()?, words.next(), words.next()) {
            ("help", None, None) => {
                let lines = COMMANDS.map(|(command, what)| format!("{command:8} {what}"));
                Ok(lines.join("\n"))
            }
            ("waves", None, None) => Ok(self.waves_text()),
            ("lanes", None, None) => self.lanes_text(id),
            ("wave", Some(number), None) if is_word(number) => {
                let parsed = number.parse::<usize>();
                let parsed = parsed.map_err(|_| wrong("wave", number));
                parsed.and_then(|number| {
                    self.see_wave(number)?;
                    self.wave(number).map(name)
                })
            }
            ("lane", None, None) => {
                let all = "all lanes".to_owned();
                self.see_lane(id.wave, None).map(|()| all)
            }
            ("lane", Some(number), None) if is_word(number) => {
                let parsed = number.parse::<i64>();
                let parsed = parsed.map_err(|_| wrong("lane", number));
                parsed.and_then(|number| {
                    self.see_lane(id.wave, Some(number))?;
                    Ok(format!("lane {number} of wave {}", id.wave))
                })
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
            crate::lane_places::print_where(&frame, None, usize::MAX, &mut out)
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
}

/// Returns true if a text is a single word. No expression has two words in a row, so a word after a command name cannot be part of one.
fn is_word(text: &str) -> bool {
    text.chars().all(|one| one.is_alphanumeric() || one == '_')
}

fn wrong(command: &str, text: &str) -> String {
    let text = Untrusted::from(text.to_owned());
    format!("{command} {text}: the number of a {command} is expected")
}
