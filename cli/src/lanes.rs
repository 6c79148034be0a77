//! Reads and prints sets of lanes.

use hetdwarf::arch::{Lane, WaveSize};
use hetdwarf::inspect::ValueStateKind;
use hetdwarf::report::LaneChoice;

use super::failure::Failure;

/// Returns the lanes that `--lane` names, in ascending order and without duplicates. Returns None if it is not given.
pub(crate) fn chosen_lanes(
    text: Option<&str>,
    wave_size: WaveSize,
) -> Result<Option<Vec<Lane>>, Failure> {
    text.map(|text| parse(text, wave_size)).transpose()
}

/// Returns the [`LaneChoice`] for `--lane`, for commands that support waiting lanes. Lanes named by number are inspected where they wait.
/// Without the option, or with `all`, all lanes are inspected at the pc of the frame.
///
/// * `chosen`: the result of [`chosen_lanes`].
pub(crate) fn lane_choice<'c>(text: Option<&str>, chosen: Option<&'c [Lane]>) -> LaneChoice<'c> {
    match chosen {
        Some(lanes) if !text.is_some_and(is_all) => LaneChoice::These(lanes),
        Some(_) | None => LaneChoice::All,
    }
}

/// Returns true if the value of `--lane` is `all`.
fn is_all(text: &str) -> bool {
    text.trim() == "all"
}

/// Parses `3`, `0-7, 12` or `all`.
fn parse(text: &str, wave_size: WaveSize) -> Result<Vec<Lane>, Failure> {
    if is_all(text) {
        return Ok(wave_size.all_lanes().collect());
    }
    let mut chosen = 0u64;
    for part in text.split(',').map(str::trim) {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (lane(first, wave_size), lane(last, wave_size)),
            None => (lane(part, wave_size), lane(part, wave_size)),
        };
        let (Some(Lane(first)), Some(Lane(last))) = (first, last) else {
            return Err(wrong(text, part, wave_size));
        };
        if first > last {
            let reason = format!("--lane {text}: {part} ends before it starts");
            return Err(Failure::new(reason));
        }
        for lane in first..=last {
            chosen |= 1u64.checked_shl(lane.into()).unwrap_or(0);
        }
    }
    let is_chosen = |lane: &Lane| chosen.checked_shr(lane.0.into()).unwrap_or(0) & 1 == 1;
    Ok(wave_size.all_lanes().filter(is_chosen).collect())
}

/// Parses the number of a lane of the wave. Returns None if there is no such lane.
fn lane(text: &str, wave_size: WaveSize) -> Option<Lane> {
    let text = text.trim();
    // `str::parse` alone would accept a sign.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let lane = text.parse().ok().filter(|_| plain).map(Lane)?;
    wave_size.all_lanes().find(|other| *other == lane)
}

fn wrong(text: &str, part: &str, wave_size: WaveSize) -> Failure {
    let last = wave_size.lanes() - 1;
    let of_several = if part == text.trim() {
        String::new()
    } else {
        format!("{part:?} is not a lane: ")
    };
    Failure::new(format!(
        "--lane {text}: {of_several}expected lanes from 0 to {last}, as in 3 or 0-7,12, or `all`"
    ))
}

/// Formats a work-item by its position in the grid: `(3,0,0)`.
pub(crate) fn item_text([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}

/// A run of lanes, with its first and last work-item, if known.
pub(crate) type Run = (Vec<u8>, Option<([u32; 3], [u32; 3])>);

/// Splits lanes into runs in which the lanes and their work-items' x are consecutive, or in which no lane has a work-item.
pub(crate) fn item_runs(lanes: &[(u8, Option<[u32; 3]>)]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &(lane, item) in lanes {
        if let Some((lanes, items)) = runs.last_mut()
            && lanes.last().and_then(|last| last.checked_add(1)) == Some(lane)
        {
            match (items, item) {
                (None, None) => {
                    lanes.push(lane);
                    continue;
                }
                (Some((_, last)), Some(item)) if follows(*last, item) => {
                    lanes.push(lane);
                    *last = item;
                    continue;
                }
                (None | Some(_), _) => {}
            }
        }
        runs.push((vec![lane], item.map(|item| (item, item))));
    }
    runs
}

fn follows([x, y, z]: [u32; 3], next: [u32; 3]) -> bool {
    x.checked_add(1).is_some_and(|x| next == [x, y, z])
}

/// Formats the work-items of lanes, as `0-7 (0,0,0)-(7,0,0), 8 (0,1,0)`. Returns None if no lane has one.
pub(crate) fn work_items(lanes: &[(u8, Option<[u32; 3]>)]) -> Option<String> {
    let runs = item_runs(lanes);
    let texts = runs.iter().filter_map(|(lanes, items)| {
        let (first, last) = (*items)?;
        let lanes = ranges(lanes);
        Some(if first == last {
            format!("{lanes} {}", item_text(first))
        } else {
            format!("{lanes} {}-{}", item_text(first), item_text(last))
        })
    });
    let texts: Vec<_> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Formats lanes in ascending order, as `0-3, 7, 9-15, 20-26 even`.
pub(crate) fn ranges(lanes: &[u8]) -> String {
    /// The fewest alternate lanes that form an `even` or `odd` range.
    const LEAST: usize = 4;
    let mut text = String::new();
    let mut rest = lanes;
    while let Some(&first) = rest.first() {
        let run = |step: usize| {
            let expected = (first..=u8::MAX).step_by(step);
            let run = rest.iter().zip(expected);
            run.take_while(|(lane, expected)| **lane == *expected)
                .count()
        };
        let (count, is_every_other) = match (run(1), run(2)) {
            (1, every_other) if every_other >= LEAST => (every_other, true),
            (next_to_it, _) => (next_to_it.max(1), false),
        };
        let last = rest.get(count - 1).copied().unwrap_or(first);
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&first.to_string());
        if last != first {
            text.push('-');
            text.push_str(&last.to_string());
        }
        if is_every_other {
            text.push_str(if first % 2 == 0 { " even" } else { " odd" });
        }
        rest = rest.get(count..).unwrap_or_default();
    }
    text
}

/// Formats `lane 3` or `lanes 0-2, 7`.
pub(crate) fn numbered(lanes: &[u8]) -> String {
    let plural = if lanes.len() == 1 { "" } else { "s" };
    format!("lane{plural} {}", ranges(lanes))
}

/// Formats `lane 3 waits` or `lanes 0-2, 7 wait`: `verbs` are the singular and the plural.
pub(crate) fn numbered_with(lanes: &[u8], verbs: [&str; 2]) -> String {
    let [one, several] = verbs;
    let verb = if lanes.len() == 1 { one } else { several };
    format!("{} {verb}", numbered(lanes))
}

/// Returns the text of a state, which also occurs inside values.
pub(crate) fn state_text(state: ValueStateKind) -> &'static str {
    if state == ValueStateKind::OptimizedOut {
        "optimized out"
    } else {
        state.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lanes in a text, or an error message about it.
    fn read(text: &str) -> Result<String, String> {
        let lanes = parse(text, WaveSize::Wave32).map_err(|failure| failure.to_string())?;
        let numbers: Vec<u8> = lanes.iter().map(|lane| lane.0).collect();
        Ok(ranges(&numbers))
    }

    #[test]
    fn lanes_are_named_one_by_one_and_in_ranges() {
        for (text, lanes) in [
            ("3", "3"),
            ("0-3", "0-3"),
            ("1-3,7", "1-3, 7"),
            ("7, 1 - 3", "1-3, 7"),
            ("3,1-5,5,31", "1-5, 31"),
            ("9-9", "9"),
            ("all", "0-31"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(lanes), "{text}");
        }
        for (text, wrong) in [
            (
                "32",
                "--lane 32: expected lanes from 0 to 31, as in 3 or 0-7,12, or `all`",
            ),
            (
                "1-3,64",
                "--lane 1-3,64: \"64\" is not a lane: expected lanes from 0 to 31",
            ),
            ("0-32", "expected lanes from 0 to 31"),
            ("3-1", "--lane 3-1: 3-1 ends before it starts"),
            ("", "expected lanes"),
            ("1,,2", "\"\" is not a lane"),
            ("1-2-3", "expected lanes"),
            ("-1", "expected lanes"),
            ("+1", "expected lanes"),
            ("all,1", "\"all\" is not a lane"),
            ("18446744073709551616", "expected lanes"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.contains(wrong), "{text}: {found}");
        }
    }

    #[test]
    fn work_items_are_named_in_runs() {
        let square: Vec<_> = (0..9u8)
            .map(|lane| (lane, Some([u32::from(lane % 4), u32::from(lane / 4), 0])))
            .collect();
        assert_eq!(
            work_items(&square).unwrap(),
            "0-3 (0,0,0)-(3,0,0), 4-7 (0,1,0)-(3,1,0), 8 (0,2,0)"
        );
        let with_gap = [(0, Some([64, 0, 0])), (2, Some([66, 0, 0])), (3, None)];
        assert_eq!(work_items(&with_gap).unwrap(), "0 (64,0,0), 2 (66,0,0)");
        assert_eq!(work_items(&[(0, None), (1, None)]), None);
        assert_eq!(item_runs(&[(0, None), (1, None)]).len(), 1);
    }

    #[test]
    fn neighbours_are_joined() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[0, 1, 2, 3, 7, 9, 10]), "0-3, 7, 9-10");
        assert_eq!(ranges(&(0..=63).collect::<Vec<_>>()), "0-63");
        // Four or more alternate lanes form an even or odd range.
        assert_eq!(ranges(&[1, 3, 5, 7, 9, 10]), "1-9 odd, 10");
        assert_eq!(ranges(&[0, 2, 4, 7, 8]), "0, 2, 4, 7-8");
    }
}
