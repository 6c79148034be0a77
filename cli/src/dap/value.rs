//! Values of lanes as an editor shows them: one line each.

use hetdwarf::report::LaneDocument;

use crate::lanes::state_text;

/// How many values a summary names, and how long each may be.
const MOST_VALUES: usize = 4;
const MOST_TEXT: usize = 60;

/// Returns the text of a value in a lane, or why there is none.
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

/// Returns a text for the values of all lanes: the one value, or the values with how many lanes have each. Lanes that do not execute here
/// are left out, unless none does.
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
            Some((_, count)) => *count = count.saturating_add(1),
            None => values.push((text, 1)),
        }
    }
    if let [(only, _)] = &*values {
        return only.clone();
    }
    let count = values.len();
    // The most frequent first, and equally frequent ones by their first lanes.
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
