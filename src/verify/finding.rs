//! Holds findings and their places.

use core::ops::Range;

use super::evidence::Evidence;
use crate::cfi_check::Contradiction;
use crate::meter::Meter;
use crate::rule::{Rule, Severity};
use crate::untrusted::Untrusted;

/// A violation of a rule at a place.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The severity. It is the severity of the rule, unless the selection changes it.
    pub severity: Severity,
    /// The section at fault, `.debug_frame` for example.
    pub section: &'static str,
    /// The offset in the section, in bytes, of the faulty entry, instruction or expression.
    pub offset: Option<u64>,
    /// The first affected address in the code object.
    pub pc: Option<u64>,
    /// The function that contains this address.
    pub function: Option<Untrusted<'static>>,
    /// The source line of this address.
    pub source: Option<SourceLine>,
    /// The row or expression, with the faulty part marked.
    pub excerpt: Option<Excerpt>,
    /// The problem, with the decisive numbers.
    pub message: Untrusted<'static>,
    /// The correct contents, if known.
    pub help: Option<Untrusted<'static>>,
    /// True if the finding stands for many equal ones in its unit or section. Its place and function are then only an example.
    pub is_example: bool,
    /// The contradiction with the machine code, for rules that compare with it.
    pub contradiction: Option<Box<Contradiction>>,
    /// The instructions around the cause and the correct directives. Present for the first contradictions with machine code.
    pub evidence: Option<Box<Evidence>>,
}

/// A source line.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The path of the file, as the line table gives it.
    pub file: Untrusted<'static>,
    /// The line, from 1; 0 if the line table names none.
    pub line: u64,
    /// The text of the line. Present if the line table contains it, for a finding with evidence.
    pub text: Option<Untrusted<'static>>,
    /// The MD5 of the file at compilation, if the line table has it.
    pub md5: Option<[u8; 16]>,
}

impl SourceLine {
    pub(crate) fn new(file: impl Into<Untrusted<'static>>, line: u64) -> SourceLine {
        SourceLine {
            file: file.into(),
            line,
            text: None,
            md5: None,
        }
    }
}

/// A line of text with a faulty part.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Excerpt {
    /// The line, in the format of `dump`.
    pub text: Untrusted<'static>,
    /// The faulty part, as a range of bytes of `text`; empty if the whole line is faulty.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "ends", deserialize_with = "range")
    )]
    pub mark: Range<usize>,
}

/// Serializes a range as its start and end.
#[cfg(feature = "serde")]
fn ends<S: serde::Serializer>(range: &Range<usize>, serializer: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&(range.start, range.end), serializer)
}

/// Deserializes the start and end of a range.
#[cfg(feature = "serde")]
fn range<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Range<usize>, D::Error> {
    let (start, end) = serde::Deserialize::deserialize(deserializer)?;
    Ok(start..end)
}

impl Excerpt {
    /// Creates a line with a faulty part.
    ///
    /// * `mark`: the faulty part, as a range of bytes of `text`.
    #[must_use]
    pub fn new(text: impl Into<Untrusted<'static>>, mark: Range<usize>) -> Excerpt {
        Excerpt {
            text: text.into(),
            mark,
        }
    }

    /// Creates a line that is faulty as a whole.
    #[must_use]
    pub fn whole(text: String) -> Excerpt {
        Excerpt::new(text, 0..0)
    }
}

impl Finding {
    pub(crate) fn new(
        rule: &'static Rule,
        section: &'static str,
        message: impl Into<Untrusted<'static>>,
    ) -> Finding {
        Finding {
            rule,
            severity: rule.severity,
            section,
            offset: None,
            pc: None,
            function: None,
            source: None,
            excerpt: None,
            message: message.into(),
            help: None,
            is_example: false,
            contradiction: None,
            evidence: None,
        }
    }

    pub(crate) fn at(self, offset: u64) -> Finding {
        Finding {
            offset: Some(offset),
            ..self
        }
    }

    pub(crate) fn pc(self, pc: u64) -> Finding {
        Finding {
            pc: Some(pc),
            ..self
        }
    }

    pub(crate) fn excerpt(self, excerpt: Excerpt) -> Finding {
        Finding {
            excerpt: Some(excerpt),
            ..self
        }
    }

    pub(crate) fn help(self, help: impl Into<Untrusted<'static>>) -> Finding {
        Finding {
            help: Some(help.into()),
            ..self
        }
    }

    /// Marks the finding as an example for its unit or section.
    pub(super) fn example(self) -> Finding {
        Finding {
            is_example: true,
            ..self
        }
    }

    /// Appends text to the message.
    pub(super) fn add_to_message(&mut self, text: &str) {
        self.message = format!("{}{text}", self.message.raw()).into();
    }

    /// Returns the number of bytes that the finding takes in memory, in a document and in print.
    fn size(&self) -> u64 {
        /// One copy in each form, and room for escapes.
        const COPIES: u64 = 4;
        let excerpt = self
            .excerpt
            .as_ref()
            .map_or(0, |excerpt| excerpt.text.raw().len());
        let help = self.help.as_ref().map_or(0, |help| help.raw().len());
        let ranges = self.contradiction.as_ref().map_or(0, |contradiction| {
            let each = size_of::<Range<u64>>();
            contradiction.ranges.len() * each + size_of::<Contradiction>()
        });
        let texts = [
            ranges,
            size_of::<Finding>(),
            self.message.raw().len(),
            excerpt,
            help,
        ];
        let sum: usize = texts.into_iter().sum();
        sum as u64 * COPIES
    }

    /// Returns the sort key of findings, which gives the same order on every run.
    pub(super) fn key(&self) -> impl Ord + use<'_> {
        (
            self.section,
            self.offset,
            self.pc,
            self.rule.id,
            self.message.raw(),
        )
    }
}

/// Collects findings up to a limit, because a malformed file can violate a rule at every byte.
#[derive(Debug, Default)]
pub(super) struct Findings {
    found: Vec<Finding>,
    /// The number of omitted findings.
    dropped: u64,
}

impl Findings {
    /// The maximum number of findings, which take some megabytes.
    const MOST: usize = 1 << 16;

    /// Returns the number of findings, including omitted ones.
    pub(super) fn len(&self) -> u64 {
        self.found.len() as u64 + self.dropped
    }

    pub(super) fn add(&mut self, finding: Finding) {
        if self.found.len() < Findings::MOST {
            self.found.push(finding);
        } else {
            self.dropped += 1;
        }
    }

    /// Adds the findings of another collection.
    pub(super) fn append(&mut self, other: Findings) {
        self.dropped += other.dropped;
        for finding in other.found {
            self.add(finding);
        }
    }

    /// Returns the sorted findings, and the number of omitted ones. Findings that the meter refuses are omitted too.
    pub(super) fn finish(mut self, meter: &Meter) -> (Vec<Finding>, u64) {
        self.found.sort_by(|a, b| a.key().cmp(&b.key()));
        self.found.dedup();
        let unpaid = (self.found.iter()).position(|finding| meter.hold(finding.size()).is_err());
        if let Some(first) = unpaid {
            let left_out = (self.found.len() - first) as u64;
            self.dropped += left_out;
            self.found.truncate(first);
        }
        (self.found, self.dropped)
    }
}
