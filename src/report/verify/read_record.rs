//! Reads records of findings, which may come from an untrusted source.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::super::number::Hex;
use super::{FindingDocument, FindingRecord, SourceDocument};
use crate::object::known_name;
use crate::untrusted::{Escaper, Untrusted};
use crate::verify::{Evidence, Excerpt, Rule, Severity};

/// The fields of a record in a line.
#[derive(Deserialize)]
struct Line {
    file: Untrusted<'static>,
    sha256: Option<String>,
    number: u64,
    object: Untrusted<'static>,
    target: Untrusted<'static>,
    producer: Untrusted<'static>,
    rule: String,
    severity: String,
    section: String,
    offset: Option<Hex>,
    pc: Option<Hex>,
    function: Option<Untrusted<'static>>,
    source: Option<SourceDocument>,
    excerpt: Option<Excerpt>,
    message: Untrusted<'static>,
    help: Option<Untrusted<'static>>,
    fingerprint: String,
    #[serde(default)]
    registers: Vec<String>,
    evidence: Option<Evidence>,
    #[serde(rename = "cause_pc")]
    cause: Option<Hex>,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    is_example: bool,
}

impl<'de> Deserialize<'de> for FindingRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FindingRecord, D::Error> {
        let line = Line::deserialize(deserializer)?;
        line.check().map_err(D::Error::custom)
    }
}

impl Line {
    fn check(self) -> Result<FindingRecord, String> {
        let unknown = |what: &str, name: &str| {
            let name = Untrusted::from(name);
            format!("unknown {what} `{name}`")
        };
        let rule = Rule::by_id(&self.rule).ok_or_else(|| unknown("rule", &self.rule))?;
        let levels = [Severity::Error, Severity::Warning, Severity::Note];
        let level = levels
            .into_iter()
            .find(|level| level.name() == self.severity);
        let severity = level.ok_or_else(|| unknown("severity", &self.severity))?;
        let section = section(&self.section).ok_or_else(|| unknown("section", &self.section))?;
        let evidence = self.evidence.iter();
        let code = evidence.clone().flat_map(|evidence| &evidence.code);
        let placed = evidence.flat_map(|evidence| evidence.row.iter().chain(&evidence.directives));
        let texts = [&self.fingerprint, &self.kind].into_iter();
        let md5 = self.source.as_ref().and_then(|source| source.md5.as_ref());
        let texts = texts
            .chain(md5)
            .chain(&self.registers)
            .chain(code.map(|line| &line.text))
            .chain(placed.flat_map(|placed| [&placed.text, &placed.meaning]));
        for text in texts {
            is_plain(text)?;
        }
        if let Some(excerpt) = &self.excerpt
            && excerpt.text.raw().get(excerpt.mark.clone()).is_none()
        {
            return Err("the mark of its excerpt is outside of the text".to_owned());
        }
        let finding = FindingDocument {
            offset: self.offset,
            pc: self.pc,
            function: self.function,
            source: self.source,
            excerpt: self.excerpt,
            help: self.help,
            fingerprint: self.fingerprint,
            registers: self.registers,
            evidence: self.evidence,
            cause: self.cause,
            kind: self.kind,
            is_example: self.is_example,
            ..FindingDocument::new(rule.id, severity, section, self.message, rule.spec)
        };
        Ok(FindingRecord {
            format: "hetdwarf-finding/1",
            file: self.file,
            sha256: self.sha256,
            number: self.number,
            object: self.object,
            target: self.target,
            producer: self.producer,
            finding,
        })
    }
}

/// Returns the static name of a section that findings can have.
fn section(name: &str) -> Option<&'static str> {
    /// The names that are not sections, or that other layers look up.
    const MORE: &[&str] = &["ELF header", ".debug_macro", ".debug_rnglists.dwo"];
    known_name(name).or_else(|| MORE.iter().copied().find(|known| *known == name))
}

/// Returns an error if text that hetdwarf generates itself contains characters that a terminal interprets. Such text is later printed unescaped.
fn is_plain(text: &str) -> Result<(), String> {
    let mut shown = String::with_capacity(text.len());
    // Writing to a string does not fail.
    let _ = Escaper::new().write(text, &mut shown);
    match shown == text {
        true => Ok(()),
        false => Err(format!(
            "no record has the text `{}` there",
            Untrusted::from(text)
        )),
    }
}
