//! Formats values of lanes for an editor, in one line each.

use hetdwarf::report::LaneDocument;

use crate::lanes::state_text;

/// The most values in a summary, and the longest text of each.
const MOST_VALUES: usize = 4;
const MOST_TEXT: usize = 60;

/// Returns the text of a value in a lane, or the reason why there is no value.
pub(super) fn lane_text(lane: &LaneDocument) -> String {
    let text = match (&lane.value, &lane.message) {
        (Some(value), _) => value.to_string(),
        (None, Some(reason)) => format!("<{}> ({reason})", state_text(lane.state)),
        (None, None) => format!("<{}>", state_text(lane.state)),
    };
    match &lane.recovered {
        Some(recovered) if lane.value.is_some() => format!("{text} ({recovered})"),
        _ => text,
    }
}

/// Summarizes the values of all lanes: a single common value, or each value with its number of lanes. Inactive lanes are left out, unless
/// all lanes are inactive.
pub(super) fn summary(lanes: &[LaneDocument]) -> String {
    let active: Vec<&LaneDocument> = lanes.iter().filter(|lane| lane.state.is_active()).collect();
    let shown: Vec<&LaneDocument> = match active.is_empty() {
        true => lanes.iter().collect(),
        false => active,
    };
    let mut values: Vec<(String, usize)> = Vec::new();
    for lane in shown {
        let text = lane_text(lane);
        match values.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => values.push((text, 1)),
        }
    }
    if let [(only, _)] = &*values {
        return only.clone();
    }
    let count = values.len();
    // The most frequent value comes first. Equally frequent values are ordered by their first lanes.
    values.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
    let named: Vec<String> = values
        .iter()
        .take(MOST_VALUES)
        .map(|(text, count)| format!("{} ×{count}", cut(text)))
        .collect();
    let more = if count > MOST_VALUES { ", …" } else { "" };
    format!("{count} values: {}{more}", named.join(", "))
}

fn cut(text: &str) -> String {
    let mut short: String = text.chars().take(MOST_TEXT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
