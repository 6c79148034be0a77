//! `hetdwarf-profile/1`: the samples of a profiler, grouped by source place, and the causes of idle lanes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::completeness::Completeness;
use super::number::Hex;
use super::text::FileNames;
use crate::profile::{By, Idle, Key, Located, NameId, Names, Profile, Row, rows, share};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ProfileDocument {
    /// `hetdwarf-profile/1`.
    pub format: &'static str,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The counted events: `samples`, or `executions` in a thread trace.
    pub counts: &'static str,
    /// The number of samples.
    pub samples: u64,
    /// The number of samples that could not be looked up.
    pub unresolved: u64,
    /// The number of samples that could not be looked up, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unresolved_reasons: BTreeMap<String, u64>,
    /// The number of samples whose code object was not found, so that only the profiler's comments gave their place.
    #[serde(skip_serializing_if = "is_zero")]
    pub by_comment: u64,
    /// The number of discarded samples, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub discarded: BTreeMap<&'static str, u64>,
    /// The key by which samples are grouped.
    pub grouped_by: &'static str,
    /// The rows, in descending order of samples.
    pub rows: Vec<ProfileRow>,
    /// The number of rows that are left out.
    #[serde(skip_serializing_if = "is_none")]
    pub rows_left_out: usize,
    /// The number of idle lanes, summed over samples.
    pub idle_lane_samples: u64,
    /// The causes of idle lanes, in descending order of lanes.
    pub divergence: Vec<DivergenceDocument>,
    /// Fields of the files that are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown_fields: Vec<Untrusted<'static>>,
    /// Notes on the files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Untrusted<'static>>,
    /// Problems of the files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Untrusted<'static>>,
}

/// Samples that are grouped together.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ProfileRow {
    /// The common key: `k.cl:7`, `k`, `k;f` or `0x1a08 v_add_u32 v0, v1, v2`. `?` if it is not known.
    pub by: Untrusted<'static>,
    /// The number of samples.
    pub samples: u64,
    /// The mean share of active lanes over all samples; `null` if it is not known.
    pub lanes_active: Option<f64>,
    /// The number of stalled samples, by reason.
    pub stalls: BTreeMap<Untrusted<'static>, u64>,
    /// The innermost functions.
    pub functions: Vec<Untrusted<'static>>,
    /// The number of samples that issued an instruction, if known.
    #[serde(skip_serializing_if = "is_zero")]
    pub issued: u64,
    /// The number of stalled samples.
    #[serde(skip_serializing_if = "is_zero")]
    pub stalled: u64,
    /// The types of instructions that were issued.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<Untrusted<'static>, u64>,
    /// The cycles, in a thread trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<CyclesDocument>,
    /// The address of an instruction in its code object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pc: Option<Hex>,
    /// The path of the source file, in a row for a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<Untrusted<'static>>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// Cycles of a thread trace.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CyclesDocument {
    /// The cycles from issue to issue.
    pub latency: u64,
    /// The stalled cycles, which `latency` includes.
    pub stall: u64,
    /// The idle cycles between instructions.
    pub idle: u64,
}

/// The lanes that were inactive for one cause.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct DivergenceDocument {
    /// The instruction that switched the lanes off; `null` if there is none or if it is not known.
    pub branch: Option<BranchDocument>,
    /// The possible instructions, one of which switched the lanes off.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<BranchDocument>,
    /// The reason why no instruction is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The reason as text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'static str>,
    /// The number of lanes, summed over samples.
    pub idle_lane_samples: u64,
    /// The share of all lanes that were inactive for this cause.
    pub share: f64,
}

/// An instruction that switches lanes off.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct BranchDocument {
    /// The address in its code object; `null` if several instructions of the line are possible, which `candidates` lists.
    pub pc: Option<Hex>,
    /// The innermost function.
    pub function: Option<Untrusted<'static>>,
    /// The path of the file.
    pub file: Option<Untrusted<'static>>,
    /// The line.
    pub line: Option<u64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_none(number: &usize) -> bool {
    *number == 0
}

fn text(text: &str) -> Untrusted<'static> {
    Untrusted::from(text.to_owned())
}

/// Rounds a share to four decimal places.
pub(super) fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

impl By {
    /// Returns the name in documents: `line`, `function`, `kernel`, `instruction` or `stack`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            By::Line => "line",
            By::Function => "function",
            By::Kernel => "kernel",
            By::Instruction => "instruction",
            By::Stack => "stack",
        }
    }
}

/// Returns the functions of a stack in the format of flame graph tools, the outermost first.
fn folded(stack: &[Option<std::sync::Arc<str>>]) -> String {
    let name = |function: &Option<std::sync::Arc<str>>| {
        let name = function.as_deref().unwrap_or("?");
        name.replace(|c: char| c == ';' || c.is_whitespace(), "_")
    };
    let names: Vec<String> = stack.iter().map(name).collect();
    names.join(";")
}

/// Returns the counts by name.
fn named(counts: &[(NameId, u64)], names: &Names) -> BTreeMap<Untrusted<'static>, u64> {
    let counts = counts.iter();
    counts
        .map(|(name, count)| (text(names.name(*name)), *count))
        .collect()
}

impl ProfileRow {
    fn new(row: &Row, names: &Names, files: &FileNames<'_>) -> ProfileRow {
        let short = |path: &str| files.short(&path.into()).raw().to_owned();
        let by = match &row.key {
            Key::Line(Some(file), Some(line)) => format!("{}:{line}", short(file)),
            Key::Line(..) => "?".to_owned(),
            Key::Name(name) => name.as_deref().unwrap_or("?").to_owned(),
            Key::Instruction(at, instruction) => {
                let instruction = instruction.as_deref().unwrap_or("?");
                match at {
                    Some((_, address)) => format!("{address:#x} {instruction}"),
                    None => instruction.to_owned(),
                }
            }
            Key::Stack(stack) => folded(stack),
        };
        let (mut pc, mut file, mut line) = (None, None, None);
        match &row.key {
            Key::Line(path, number) => {
                file = path.as_deref().map(text);
                line = *number;
            }
            Key::Instruction(at, _) => pc = at.map(|(_, address)| Hex::from(address)),
            Key::Name(_) | Key::Stack(_) => {}
        }
        let counts = &row.counts;
        let [latency, stall, idle] = counts.cycles;
        let has_cycles = counts.cycles != [0; 3];
        ProfileRow {
            by: by.into(),
            samples: counts.samples,
            lanes_active: row.lanes_active().map(rounded),
            stalls: named(&counts.stalls, names),
            functions: row.functions.iter().map(|name| text(name)).collect(),
            issued: counts.issued,
            stalled: counts.stalled,
            types: named(&counts.types, names),
            cycles: has_cycles.then_some(CyclesDocument {
                latency,
                stall,
                idle,
            }),
            pc,
            file,
            line,
        }
    }
}

impl DivergenceDocument {
    fn new(idle: &Idle, all: u64) -> DivergenceDocument {
        let reason = idle.cause.name();
        let branch = |pc: Option<u64>, located: &Option<Located>| {
            let position = located.as_ref().and_then(|one| one.frames.first());
            BranchDocument {
                pc: pc.map(Hex::from),
                function: position.and_then(|one| one.function.as_deref()).map(text),
                file: position.and_then(|one| one.file.as_deref()).map(text),
                line: position.and_then(|one| one.line),
            }
        };
        let own = || branch(idle.cause.branch(), &idle.located);
        let candidates = idle.candidates.iter();
        let candidates = candidates.map(|(pc, located)| branch(Some(*pc), located));
        DivergenceDocument {
            branch: reason.is_none().then(own),
            candidates: candidates.collect(),
            reason,
            text: reason.map(|_| idle.cause.text()),
            idle_lane_samples: idle.lane_samples,
            share: share(idle.lane_samples, all).map_or(0.0, rounded),
        }
    }
}

impl ProfileDocument {
    /// Creates the document of a profile. The caller adds the facts about its files.
    ///
    /// * `top`: the maximum number of rows.
    /// * `idle`: the result of [`divergence`](crate::profile::divergence).
    #[must_use]
    pub fn new(
        profile: &Profile<'_, '_>,
        by: By,
        top: Option<usize>,
        idle: &[Idle],
    ) -> ProfileDocument {
        let mut rows = rows(profile, by);
        let top = top.unwrap_or(usize::MAX);
        let rows_left_out = rows.len().saturating_sub(top);
        rows.truncate(top);
        let files = rows.iter().filter_map(|row| match &row.key {
            Key::Line(Some(file), _) => Some(&**file),
            Key::Line(..) | Key::Name(_) | Key::Instruction(..) | Key::Stack(_) => None,
        });
        let files = FileNames::of(files);
        let all = idle.iter().map(|one| one.lane_samples);
        let all = all.fold(0, u64::saturating_add);
        ProfileDocument {
            format: "hetdwarf-profile/1",
            completeness: Completeness::default(),
            counts: "samples",
            samples: profile.samples(),
            unresolved: profile.unresolved,
            unresolved_reasons: BTreeMap::new(),
            by_comment: 0,
            discarded: BTreeMap::new(),
            grouped_by: by.name(),
            rows: (rows.iter())
                .map(|row| ProfileRow::new(row, &profile.names, &files))
                .collect(),
            rows_left_out,
            idle_lane_samples: all,
            divergence: idle
                .iter()
                .map(|one| DivergenceDocument::new(one, all))
                .collect(),
            unknown_fields: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
        }
    }
}
