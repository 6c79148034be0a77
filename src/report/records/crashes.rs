//! `hetdwarf-crashes/1`: the distinct crashes of many cores.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::super::text::{base_name, source_place};
use super::super::verify::UnreadableFile;
use super::tree::{Tree, TreeNode};
use super::{ErrorRecord, WaveRecord};
use crate::plural::counted;
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CrashesDocument {
    /// `hetdwarf-crashes/1`.
    pub format: &'static str,
    /// The number of cores with waves.
    pub cores: u64,
    /// The number of waves in these cores.
    pub waves: u64,
    /// The crashes, sorted by the number of cores, and then by the number of waves, in descending order.
    pub crashes: Vec<CrashDocument>,
    /// The stacks of all waves, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Vec<TreeNode>>,
    /// The cores with an unreadable part, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partial: Vec<UnreadableFile>,
    /// The unreadable files, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableFile>,
}

/// A crash: waves with the same fingerprint.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CrashDocument {
    /// The number of cores with this crash.
    pub count: u64,
    /// The number of waves with this crash.
    pub waves: u64,
    /// The common fingerprint of these waves, 16 hexadecimal digits.
    pub fingerprint: Untrusted<'static>,
    /// The kind of crash, as in a verdict: `memory-violation`, `assert`, `hang` and so on.
    pub reason: Untrusted<'static>,
    /// The kernel of the first example.
    pub kernel: Option<Untrusted<'static>>,
    /// The function of the first example.
    pub function: Option<Untrusted<'static>>,
    /// The path of the source file of the first example.
    pub file: Option<Untrusted<'static>>,
    /// The line of the first example.
    pub line: Option<u64>,
    /// The first example, from the core whose name comes first.
    pub example: CrashExample,
}

/// A wave with the crash.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct CrashExample {
    /// The core.
    pub file: Untrusted<'static>,
    /// The number of the wave, from 1.
    pub wave: u64,
    /// The verdict, in one sentence.
    pub text: Untrusted<'static>,
}

/// Collects the crashes of cores. The memory grows with the number of distinct crashes and stacks.
///
/// The lines of a core must come together, in the order of the waves. The cores must come in the order of their names.
#[derive(Debug)]
pub struct Crashes {
    known: BTreeMap<Untrusted<'static>, CrashDocument>,
    /// The number of the last counted core of each fingerprint.
    counted: BTreeMap<Untrusted<'static>, u64>,
    tree: Option<Tree>,
    core: Option<Untrusted<'static>>,
    cores: u64,
    waves: u64,
    /// The wave that the verdict describes, in a core that hangs.
    hanging: Option<WaveRecord>,
    partial: Vec<UnreadableFile>,
    unreadable: Vec<UnreadableFile>,
}

impl Crashes {
    /// Creates an empty collection.
    ///
    /// * `has_tree`: true if the stacks of all waves are collected.
    #[must_use]
    pub fn new(has_tree: bool) -> Crashes {
        Crashes {
            known: BTreeMap::new(),
            counted: BTreeMap::new(),
            tree: has_tree.then(Tree::new),
            core: None,
            cores: 0,
            waves: 0,
            hanging: None,
            partial: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    /// Adds a wave.
    pub fn add(&mut self, wave: &WaveRecord) {
        if self.core.as_ref() != Some(&wave.file) {
            self.end_core();
            self.core = Some(wave.file.clone());
            self.cores += 1;
        }
        self.waves += 1;
        if let Some(tree) = &mut self.tree {
            tree.add(wave, self.cores);
        }
        if wave.has_faulted() {
            self.count(wave);
        } else if wave.verdict.kind == "hang" {
            let is_there = |wave: &WaveRecord| {
                let verdict = &wave.verdict;
                let mut frames = wave.stack.iter();
                frames.any(|frame| {
                    (&frame.function, &frame.file, frame.line)
                        == (&verdict.function, &verdict.file, verdict.line)
                })
            };
            match &self.hanging {
                Some(first) if is_there(first) || !is_there(wave) => {}
                Some(_) | None => self.hanging = Some(wave.clone()),
            }
        }
    }

    /// Adds a core that is unreadable, even in part.
    pub fn add_error(&mut self, record: &ErrorRecord) {
        if let Some(error) = &record.error {
            let unreadable = UnreadableFile::new(record.file.clone(), error.clone());
            self.unreadable.push(unreadable);
        } else if let Some(first) = record.problems.first() {
            let more = match record.problems.len() {
                1 => String::new(),
                many => format!("; {} more", many - 1),
            };
            let message = format!("{}: {}{more}", first.place.raw(), first.message.raw());
            let partial = UnreadableFile::new(record.file.clone(), message);
            self.partial.push(partial);
        }
    }

    /// Counts a core that hangs as one crash, with the wave that the verdict describes.
    fn end_core(&mut self) {
        if let Some(wave) = self.hanging.take() {
            self.count(&wave);
        }
    }

    fn count(&mut self, wave: &WaveRecord) {
        let verdict = &wave.verdict;
        let known = self.known.entry(wave.fingerprint.clone());
        let known = known.or_insert_with(|| CrashDocument {
            count: 0,
            waves: 0,
            fingerprint: wave.fingerprint.clone(),
            reason: verdict.kind.clone().into(),
            kernel: verdict.kernel.clone().or_else(|| wave.wave.kernel.clone()),
            function: verdict.function.clone(),
            file: verdict.file.clone(),
            line: verdict.line,
            example: CrashExample {
                file: wave.file.clone(),
                wave: wave.wave.index,
                text: verdict.text.clone(),
            },
        });
        known.waves += 1;
        let counted = self.counted.entry(wave.fingerprint.clone()).or_insert(0);
        if *counted != self.cores {
            *counted = self.cores;
            known.count += 1;
        }
    }

    /// Makes the document.
    #[must_use]
    pub fn finish(mut self) -> CrashesDocument {
        self.end_core();
        let mut crashes: Vec<CrashDocument> = self.known.into_values().collect();
        crashes.sort_by_key(|crash| Reverse((crash.count, crash.waves)));
        self.partial.sort();
        self.unreadable.sort();
        CrashesDocument {
            format: "hetdwarf-crashes/1",
            cores: self.cores,
            waves: self.waves,
            crashes,
            tree: self.tree.map(Tree::finish),
            partial: self.partial,
            unreadable: self.unreadable,
        }
    }
}

impl CrashesDocument {
    /// Returns the counts as text: `12 distinct crashes in 80 waves of 10 cores`.
    #[must_use]
    pub fn title(&self) -> String {
        let crashes = match self.crashes.len() {
            1 => "1 crash".to_owned(),
            count => format!("{count} distinct crashes"),
        };
        let waves = counted(self.waves, "wave");
        format!("{crashes} in {waves} of {}", counted(self.cores, "core"))
    }
}

impl CrashDocument {
    /// Returns the function with its source place: `leaf at k.cl:4`. An unknown function is `?`.
    #[must_use]
    pub fn place(&self) -> Untrusted<'static> {
        let function = self.function.as_ref().map_or("?", Untrusted::raw);
        let file = self.file.as_ref().map(|file| base_name(file.raw()));
        format!("{function}{}", source_place(file, self.line)).into()
    }
}
