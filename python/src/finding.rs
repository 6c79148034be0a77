//! Findings of `verify`, as plain data that can be sent to another process.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use pyo3::prelude::*;

use hetdwarf::verify::Finding as LibraryFinding;

use crate::text::shown;

/// A problem that `verify` found. It can be pickled and compared.
///
/// ```python
/// >>> finding = obj.verify(rules=["cfi-*"])[0]
/// >>> finding.rule, finding.severity, hex(finding.pc), finding.function
/// ('cfi-clobbered-not-undefined', 'warning', '0x1a08', 'area')
/// >>> import pickle
/// >>> pickle.loads(pickle.dumps(finding)) == finding
/// True
///
/// ```
#[pyclass(frozen, get_all, module = "hetdwarf")]
#[derive(PartialEq, Eq, Hash)]
pub struct Finding {
    /// The name of the broken rule, as `hetdwarf verify --explain` takes it.
    rule: String,
    /// `error`, `warning` or `note`.
    severity: String,
    /// The section of the specification that states the rule: `HET A.6.4.1`, `DWARF 5 §6.4.1`.
    spec: String,
    /// The message that describes the problem.
    message: String,
    /// The way to fix the problem.
    help: Option<String>,
    /// The section with the problem.
    section: String,
    /// The offset in that section.
    offset: Option<u64>,
    /// The first affected address in the code object.
    pc: Option<u64>,
    /// The function at this address.
    function: Option<String>,
    /// The source file at this address.
    file: Option<String>,
    /// The line at this address.
    line: Option<u64>,
}

impl Finding {
    pub fn new(finding: LibraryFinding) -> Finding {
        let source = finding.source.as_ref();
        Finding {
            rule: finding.rule.id.to_owned(),
            severity: finding.severity.name().to_owned(),
            spec: finding.rule.spec.to_owned(),
            message: finding.message.to_string(),
            help: finding.help.map(|help| help.to_string()),
            section: finding.section.to_owned(),
            offset: finding.offset,
            pc: finding.pc,
            function: finding.function.map(|name| name.raw().to_owned()),
            file: source.map(|source| source.file.raw().to_owned()),
            line: source.map(|source| source.line),
        }
    }
}

/// The strings of a finding, then its numbers.
type Fields = (
    (String, String, String, String, String),
    (Option<String>, Option<String>, Option<String>),
    (Option<u64>, Option<u64>, Option<u64>),
);

#[pymethods]
impl Finding {
    #[new]
    fn unpickled(fields: Fields) -> Finding {
        let ((rule, severity, spec, message, section), (help, function, file), numbers) = fields;
        let (offset, pc, line) = numbers;
        Finding {
            rule,
            severity,
            spec,
            message,
            help,
            section,
            offset,
            pc,
            function,
            file,
            line,
        }
    }

    fn __getnewargs__(&self) -> (Fields,) {
        let text = String::clone;
        let names = (
            text(&self.rule),
            text(&self.severity),
            text(&self.spec),
            text(&self.message),
            text(&self.section),
        );
        let texts = (self.help.clone(), self.function.clone(), self.file.clone());
        ((names, texts, (self.offset, self.pc, self.line)),)
    }

    fn __eq__(&self, other: &Finding) -> bool {
        self == other
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let place = self
            .pc
            .map_or_else(String::new, |pc| format!(" at {pc:#x}"));
        shown(&format!(
            "<Finding {} {}{place}: {}>",
            self.severity, self.rule, self.message
        ))
    }
}
