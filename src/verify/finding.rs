//! Findings and their places.

use core::ops::Range;

use super::evidence::Evidence;
use crate::cfi_check::Contradiction;
use crate::meter::Meter;
use crate::rule::{Rule, Severity};
use crate::untrusted::Untrusted;

/// A place where a rule is broken.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The level: that of the rule, unless a choice changed it.
    pub severity: Severity,
    /// The section at fault, `.debug_frame` for example.
    pub section: &'static str,
    /// The offset in the section, in bytes, of the entry, instruction or expression at fault.
    pub offset: Option<u64>,
    /// The first address in the code object at which it matters.
    pub pc: Option<u64>,
    /// The function that this address is in.
    pub function: Option<Untrusted<'static>>,
    /// The path of the source file, as the line table gives it, and the line of this address.
    pub source: Option<(Untrusted<'static>, u64)>,
    /// The MD5 of this file as it was compiled, if the line table has it.
    pub source_md5: Option<[u8; 16]>,
    /// The row or expression, with the part at fault marked.
    pub excerpt: Option<Excerpt>,
    /// The problem, with the numbers that show it.
    pub message: Untrusted<'static>,
    /// The correct contents, if known.
    pub help: Option<Untrusted<'static>>,
    /// True if it is one of many of its unit or section that is told for all: then its place and function are an example.
    pub is_example: bool,
    /// The contradiction with the machine code, for rules that read it.
    pub contradiction: Option<Box<Contradiction>>,
    /// The instructions around the cause and what should be written, for the first findings of what machine code
    /// contradicts.
    pub evidence: Option<Box<Evidence>>,
}

/// A line of text of which a part is at fault.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Excerpt {
    /// The line, as `dump` prints it.
    pub text: Untrusted<'static>,
    /// The part at fault, in bytes of `text`; empty if it is all of it.
    #[cfg_attr(
        feature = "serde",
        serde(serialize_with = "ends", deserialize_with = "range")
    )]
    pub mark: Range<usize>,
}

/// Writes a range as its start and end.
#[cfg(feature = "serde")]
fn ends<S: serde::Serializer>(range: &Range<usize>, serializer: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&(range.start, range.end), serializer)
}

/// Reads the start and end of a range.
#[cfg(feature = "serde")]
fn range<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Range<usize>, D::Error> {
    let (start, end) = serde::Deserialize::deserialize(deserializer)?;
    Ok(start..end)
}

impl Excerpt {
    /// Creates a line of which a part is at fault.
    ///
    /// * `mark`: the part, in bytes of `text`.
    #[must_use]
    pub fn new(text: impl Into<Untrusted<'static>>, mark: Range<usize>) -> Excerpt {
        Excerpt {
            text: text.into(),
            mark,
        }
    }

    /// Returns a line that is at fault as a whole.
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
            source_md5: None,
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

    /// It is told for all of its unit or section.
    pub(super) fn example(self) -> Finding {
        Finding {
            is_example: true,
            ..self
        }
    }

    /// Says more at the end of the message.
    pub(super) fn add_to_message(&mut self, text: &str) {
        self.message = format!("{}{text}", self.message.raw()).into();
    }

    /// Returns how many bytes it takes here, in a document, and printed.
    fn size(&self) -> u64 {
        /// Once in each form, and room for escapes.
        const COPIES: u64 = 4;
        let excerpt = self
            .excerpt
            .as_ref()
            .map_or(0, |excerpt| excerpt.text.raw().len());
        let help = self.help.as_ref().map_or(0, |help| help.raw().len());
        let ranges = self.contradiction.as_ref().map_or(0, |contradiction| {
            let each = size_of::<Range<u64>>();
            let ranges = contradiction.ranges.len().saturating_mul(each);
            ranges.saturating_add(size_of::<Contradiction>())
        });
        let texts = [
            ranges,
            size_of::<Finding>(),
            self.message.raw().len(),
            excerpt,
            help,
        ];
        let sum = texts
            .into_iter()
            .fold(0, |sum: u64, text| sum.saturating_add(text as u64));
        sum.saturating_mul(COPIES)
    }

    /// Returns the sort key of findings. It gives the same order on every run.
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

/// Takes findings, up to a bound: a damaged file can break a rule at every byte.
#[derive(Debug, Default)]
pub(super) struct Findings {
    found: Vec<Finding>,
    /// The number of findings that were left out.
    dropped: u64,
}

impl Findings {
    /// Nobody reads more; and in memory it is some megabytes.
    const MOST: usize = 1 << 16;

    /// Returns how many were found.
    pub(super) fn len(&self) -> u64 {
        (self.found.len() as u64).saturating_add(self.dropped)
    }

    pub(super) fn add(&mut self, finding: Finding) {
        if self.found.len() < Findings::MOST {
            self.found.push(finding);
        } else {
            self.dropped += 1;
        }
    }

    /// Takes what another has.
    pub(super) fn append(&mut self, other: Findings) {
        self.dropped += other.dropped;
        for finding in other.found {
            self.add(finding);
        }
    }

    /// Returns the findings, sorted, and how many were left out: also those that cannot be paid for.
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
