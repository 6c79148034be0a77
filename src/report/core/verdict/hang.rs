//! Makes the verdict on a hang: the waves at a barrier, the waves that they wait for, and loops.

use super::super::super::text::source_place;
use super::super::workgroups::{
    DivergentDocument, LoopLines, MOST_POLLED, PolledDocument, WavePlace, WorkgroupDocument,
};
use super::{Found, VerdictDocument, kernel_text, lanes_and_verb, number_list};
use crate::gpu_core::WaveState;
use crate::plural::counted;

/// The maximum number of other workgroups whose waves are named.
const MOST_OTHERS: usize = 3;

impl Found<'_> {
    pub(super) fn of_hang(&self) -> Option<VerdictDocument> {
        let groups = self.workgroups.iter();
        let mut waiting = groups.filter(|group| {
            let others = group.elsewhere.len() + group.missing.len();
            !group.at_barrier.is_empty() && (others > 0 || !group.divergent.is_empty())
        });
        let Some(group) = waiting.next() else {
            return self.of_loop();
        };
        let others: Vec<&WorkgroupDocument> = waiting.collect();
        let first = group.at_barrier.first()?;
        let wave = self.wave(*first)?;
        let (_, frame) = self.place(*first)?.barrier.as_ref()?;
        let frame = frame.as_ref();
        let barrier = frame.map(|frame| {
            let file = frame.file.as_ref().map(|file| self.names.short(file));
            source_place(file, frame.line).replacen(" at ", "", 1)
        });
        let barrier = barrier.filter(|text| !text.is_empty());
        let at = barrier
            .map(|text| format!(" of {text}"))
            .unwrap_or_default();
        let [x, y, z] = group.workgroup;
        let (who, verb) = self.named(&group.at_barrier);
        let mut text = format!("workgroup ({x},{y},{z}): {who} wait{verb} at the barrier{at}");
        for (place, waves) in self.elsewhere(group) {
            let (who, verb) = self.named(&waves);
            let is = if verb.is_empty() { "are" } else { "is" };
            text.push_str(&match place {
                Elsewhere::Loop(lines) => {
                    let polled = self.polled(&waves, verb);
                    format!("; {who} loop{verb} at {}{polled}", self.lines(&lines))
                }
                Elsewhere::At(at) => format!("; {who} {is} at {at}"),
            });
        }
        if !group.missing.is_empty() {
            let numbers = number_list(&group.missing);
            let (what, has) = match group.missing.len() {
                1 => ("wave", "has"),
                _ => ("waves", "have"),
            };
            text.push_str(&format!(
                "; {what} {numbers} {has} ended without reaching it, or {has} not been saved"
            ));
        }
        for divergent in &group.divergent {
            text.push_str(&self.divergent_text(divergent));
        }
        if !others.is_empty() {
            text.push_str(&self.others_text(group, &others));
        }
        // A wave that is neither at the barrier nor in a loop still runs, and may reach the barrier.
        let goes_on = group.elsewhere.iter().any(|index| {
            let place = self.place(*index);
            place.is_none_or(|place| place.looping.is_none())
        });
        let is_hang = !goes_on || !group.divergent.is_empty();
        Some(VerdictDocument {
            kind: if is_hang { "hang" } else { "none" }.to_owned(),
            wave: None,
            kernel: wave.kernel.clone(),
            function: frame.and_then(|frame| frame.function.clone()),
            file: frame.and_then(|frame| frame.file.clone()),
            line: frame.and_then(|frame| frame.line),
            text: text.into(),
        })
    }

    /// Ends a sentence about a workgroup with the other workgroups that hang, and with the waves that they wait for if these have other numbers.
    fn others_text(&self, group: &WorkgroupDocument, others: &[&WorkgroupDocument]) -> String {
        let numbers = |group: &WorkgroupDocument| {
            let mut numbers: Vec<u64> = group
                .elsewhere
                .iter()
                .map(|one| self.number(*one))
                .collect();
            numbers.sort_unstable();
            numbers
        };
        let own = numbers(group);
        let different = others
            .iter()
            .filter(|other| !other.elsewhere.is_empty() && numbers(other) != own);
        let of_each = different.map(|other| {
            let [x, y, z] = other.workgroup;
            let (who, _) = self.named(&other.elsewhere);
            format!("({x},{y},{z}) waits for {who}")
        });
        let mut of_each: Vec<String> = of_each.collect();
        if let Some(more) = of_each
            .len()
            .checked_sub(MOST_OTHERS)
            .filter(|more| *more > 0)
        {
            of_each.truncate(MOST_OTHERS);
            of_each.push(format!("{more} more wait for other waves than here"));
        }
        let count = counted(others.len() as u64, "other workgroup");
        match of_each.is_empty() {
            true => format!(" ({count} likewise)"),
            false => format!(" ({count} likewise: {})", of_each.join(", ")),
        }
    }

    /// Describes the lanes of a wave that are not at the wave's barrier, and the places at which they go on.
    fn divergent_text(&self, divergent: &DivergentDocument) -> String {
        let number = self.number(divergent.wave);
        let is_known = |lane: &&u8| divergent.places.iter().any(|off| off.lanes.contains(lane));
        let (known, others): (Vec<u8>, Vec<u8>) =
            divergent.lanes.iter().partition(|lane| is_known(lane));
        let mut text = String::new();
        if !others.is_empty() || known.is_empty() {
            let (lanes, verb) = lanes_and_verb(&others, "is", "are");
            text = format!("; {lanes} of wave {number} {verb} not at the barrier");
        }
        for (n, off) in divergent.places.iter().enumerate() {
            let (lanes, verb) = lanes_and_verb(&off.lanes, "goes", "go");
            let (before, of) = match n {
                0 => ("; ", format!(" of wave {number} {verb} on elsewhere,")),
                _ => (", ", String::new()),
            };
            let at = self.at(off.function.as_ref(), off.file.as_ref(), off.line);
            text.push_str(&format!("{before}{lanes}{of}{at}"));
        }
        text
    }

    /// Returns the verdict if all waves are in loops, and at least one was running: a wave that had stopped in a loop, at a breakpoint for example,
    /// does not hang.
    fn of_loop(&self) -> Option<VerdictDocument> {
        let mut waves = self.waves.iter();
        if waves.all(|wave| wave.state == WaveState::Stopped) {
            return None;
        }
        let looping = |place: &WavePlace| place.looping.clone();
        let loops: Vec<LoopLines> = self.places.iter().map(looping).collect::<Option<_>>()?;
        let lines = loops.first()?;
        let is_one = loops
            .iter()
            .all(|one| one.first == lines.first && one.last == lines.last);
        if !is_one {
            return None;
        }
        let first = self.waves.first()?;
        let count = counted(self.waves.len() as u64, "wave");
        let verb = if self.waves.len() == 1 {
            "loops"
        } else {
            "loop"
        };
        let all: Vec<usize> = self.waves.iter().map(|wave| wave.index).collect();
        let text = format!(
            "{count} of {} {verb} at {}{}; none waits at a barrier",
            kernel_text(first),
            self.lines(lines),
            self.polled(&all, verb.strip_prefix("loop").unwrap_or_default())
        );
        Some(VerdictDocument {
            kind: "hang".to_owned(),
            wave: None,
            kernel: first.kernel.clone(),
            function: lines.frame.function.clone(),
            file: lines.frame.file.clone(),
            line: Some(lines.first),
            text: text.into(),
        })
    }

    /// Continues a sentence about waves in a loop with the address that all of them access in each pass, as far as they were searched.
    fn polled(&self, waves: &[usize], ending: &str) -> String {
        let each = waves.iter().filter_map(|index| self.wave(*index));
        let found: Vec<&PolledDocument> = each.filter_map(|wave| wave.polled.as_ref()).collect();
        let is_of_all = found.len() >= waves.len().min(MOST_POLLED);
        match found.split_first() {
            Some((first, others))
                if is_of_all && others.iter().all(|one| one.address == first.address) =>
            {
                first.text(ending)
            }
            Some(_) | None => String::new(),
        }
    }

    /// Returns the number of a wave in its workgroup.
    fn number(&self, index: usize) -> u64 {
        let number = self.wave(index).and_then(|wave| wave.wave_in_group);
        number.map_or(0, u64::from)
    }

    /// Returns the numbers of waves in their workgroup, with their indexes for `--wave`, and the ending of a verb that follows.
    fn named(&self, waves: &[usize]) -> (String, &'static str) {
        let sorted = |numbers: &mut dyn Iterator<Item = u64>| {
            let mut numbers: Vec<u64> = numbers.collect();
            numbers.sort_unstable();
            number_list(&numbers)
        };
        let numbers = sorted(&mut waves.iter().map(|wave| self.number(*wave)));
        let indexes = sorted(&mut waves.iter().map(|wave| *wave as u64));
        let (what, verb) = match waves.len() {
            1 => ("wave", "s"),
            _ => ("waves", ""),
        };
        (format!("{what} {numbers} (--wave {indexes})"), verb)
    }

    fn lines(&self, lines: &LoopLines) -> String {
        let file = lines.frame.file.as_ref().map(|file| self.names.short(file));
        let file = file.map(|file| format!("{file}:")).unwrap_or_default();
        match lines.first == lines.last {
            true => format!("{file}{}", lines.first),
            false => format!("{file}{}-{}", lines.first, lines.last),
        }
    }

    /// Returns the places of the waves of a workgroup that do not wait at a barrier, in the order of their first waves.
    fn elsewhere(&self, group: &WorkgroupDocument) -> Vec<(Elsewhere, Vec<usize>)> {
        let mut found: Vec<(Elsewhere, Vec<usize>)> = Vec::new();
        for index in &group.elsewhere {
            let looping = self.place(*index).and_then(|place| place.looping.clone());
            let place = match looping {
                Some(lines) => Elsewhere::Loop(lines),
                None => {
                    let wave = self.wave(*index);
                    let stack = wave.and_then(|wave| self.stacks.text(wave).first());
                    Elsewhere::At(stack.map_or_else(String::new, ToString::to_string))
                }
            };
            match found.iter_mut().find(|(known, _)| *known == place) {
                Some((_, waves)) => waves.push(*index),
                None => found.push((place, vec![*index])),
            }
        }
        found
    }
}

/// The place of waves that do not wait at a barrier.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Elsewhere {
    Loop(LoopLines),
    At(String),
}
