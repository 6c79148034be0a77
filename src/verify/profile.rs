//! Profiles: the audience of a report, which decides which findings count.

use crate::rule::{Rule, Severity};

/// The audience, which decides which findings count.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// For developers of a compiler, an assembler or a linker: everything, at its own level.
    #[default]
    Compiler,
    /// For distributors of code objects: errors and warnings.
    Release,
    /// Who writes an application and takes the compiler as it is: what is wrong is a note, which says what a debugger will
    /// show wrongly; the rest is not told.
    Application,
}

impl Profile {
    /// All of them.
    pub const ALL: [Profile; 3] = [Profile::Compiler, Profile::Release, Profile::Application];

    /// The name, as options spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Profile::Compiler => "compiler",
            Profile::Release => "release",
            Profile::Application => "application",
        }
    }

    /// Returns how bad a finding of some severity is to who asks. `None` if it is not told.
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
        /// How names start, and who it is; the first that fits counts.
        const WHO: &[(&str, &str)] = &[
            (
                "target-",
                "who maintains this program: the processor is newer than it",
            ),
            (
                "cfi-range-",
                "the linker or its script, which moved or dropped code and left its entries; else the compiler",
            ),
            (
                "cfi-",
                "the compiler's frame lowering; in assembly, who wrote the .cfi directives",
            ),
            ("expr-", "the compiler's debugging information"),
            ("loc-", "the compiler's debugging information"),
            (
                "names-",
                "the compiler, or the linker where it merges .debug_names",
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
