//! Defines profiles: the audience of a report, which determines the findings that count.

use crate::rule::{Rule, Severity};

/// The audience of a report, which determines the findings that count.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// For developers of a compiler, an assembler or a linker: all findings, with their own severity.
    #[default]
    Compiler,
    /// For distributors of code objects: errors and warnings.
    Release,
    /// For developers of an application, who cannot change the compiler. Errors are notes that describe the wrong output of a debugger. All other
    /// findings are dropped.
    Application,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 3] = [Profile::Compiler, Profile::Release, Profile::Application];

    /// Returns the name in command line options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Profile::Compiler => "compiler",
            Profile::Release => "release",
            Profile::Application => "application",
        }
    }

    /// Returns the severity of a finding for this audience. Returns `None` if the finding is dropped.
    #[must_use]
    pub fn severity(self, severity: Severity) -> Option<Severity> {
        match (self, severity) {
            (Profile::Compiler, severity) => Some(severity),
            (Profile::Release | Profile::Application, Severity::Note) => None,
            (Profile::Release, severity) => Some(severity),
            (Profile::Application, Severity::Error) => Some(Severity::Note),
            (Profile::Application, Severity::Warning) => None,
        }
    }
}

impl Rule {
    /// Returns the person or component that can repair a finding: `the compiler's frame lowering, or who wrote the .cfi directives`.
    #[must_use]
    pub fn repaired_by(&self) -> &'static str {
        /// The prefixes of rule names, with the responsible person or component. The first match counts.
        const WHO: &[(&str, &str)] = &[
            (
                "target-",
                "the maintainers of hetdwarf: the processor is newer than this version",
            ),
            (
                "cfi-range-",
                "the linker or its script, if it moved or dropped code and kept the entries; otherwise the compiler",
            ),
            (
                "cfi-",
                "the compiler's frame lowering; in assembly, the author of the .cfi directives",
            ),
            ("expr-", "the compiler's debugging information"),
            ("loc-", "the compiler's debugging information"),
            (
                "names-",
                "the compiler, or a linker that merges .debug_names",
            ),
            ("aranges-", "the compiler"),
            (
                "index-",
                "the compiler, or the tool that packed split DWARF",
            ),
            ("range-", "the compiler"),
            ("package-", "the tool that packed split DWARF"),
        ];
        let found = WHO.iter().find(|(start, _)| self.id.starts_with(start));
        found.map_or("the compiler", |(_, who)| who)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_is_told_of_errors_alone_and_as_notes() {
        use Severity::{Error, Note, Warning};
        for (profile, expected) in [
            (Profile::Compiler, [Some(Error), Some(Warning), Some(Note)]),
            (Profile::Release, [Some(Error), Some(Warning), None]),
            (Profile::Application, [Some(Note), None, None]),
        ] {
            assert_eq!(
                [Error, Warning, Note].map(|one| profile.severity(one)),
                expected
            );
        }
    }
}
