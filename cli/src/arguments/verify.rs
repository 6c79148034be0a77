//! The arguments of `verify`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::super::limits::LimitArguments;
use super::super::outputs::ForceArguments;
use super::object::DialectName;
use super::shard::Shard;
use super::sources::SourceArguments;
use hetdwarf::frame::write::Assembler;
use hetdwarf::verify::Profile;

pub(super) const VERIFY_EXAMPLES: &str = "Examples:
  hetdwarf verify kernel.hsaco
  hetdwarf verify build --format sarif > hetdwarf.sarif
  hetdwarf verify build --write-baseline known.json
  hetdwarf verify build --baseline known.json --deny 'cfi-*'
  hetdwarf verify build --allow machine-code    # four times as fast
  hetdwarf verify --explain cfi-entry
  hetdwarf verify build --format jsonl --shard 3/7 > part-3.jsonl    # see hetdwarf merge

hetdwarf.toml, in this folder or the next above that has one, has a repository's choices:
  [verify]
  allow = [\"RULE\"]          # and warn, deny; options go before what is said here
  exclude = [\"third_party\"]  # paths from the folder of the file; names without / in any folder
  baseline = \"known.json\"      # in the folder of the file or below

Exit status: 0 no error was found, 1 errors were found, 2 not everything could be checked,\nor nothing was found to check.";

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Code objects, bundles, archives, host objects and programs, and folders of such; `-` is standard input
    #[arg(value_name = "PATH", required_unless_present_any = ["list", "explain"])]
    pub(crate) paths: Vec<PathBuf>,
    /// Only these rules; `cfi-*` is all whose names start so, `machine-code` those that read machine code
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) rules: Vec<String>,
    /// Drop what this rule finds
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Make what this rule finds a warning
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) warn: Vec<String>,
    /// Make what this rule finds an error
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// Who asks, and so what counts; without it what hetdwarf.toml says, or else compiler
    #[arg(long, value_enum, value_name = "WHO")]
    pub(crate) profile: Option<ProfileName>,
    /// How many threads check files and their parts; by default as many as there are processors
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Check only the I-th of N parts: every N-th file of the sorted list. Parts count from 1; `hetdwarf merge` joins their records
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Only what is not in this file counts and is printed
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write what is found to this file, and take it as known
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub(crate) write_baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// The choices of this file, instead of the next hetdwarf.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Every finding by itself, not one for each cause
    #[arg(long)]
    pub(crate) each: bool,
    /// Only the table: for each rule its level and how many findings, functions and files
    #[arg(long, conflicts_with_all = ["each", "list", "explain"])]
    pub(crate) summary: bool,
    /// Which codes the heterogeneous operations have
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectName,
    /// Write what is proposed for this assembler
    #[arg(long, value_enum, default_value_t)]
    pub(crate) assembler: AssemblerName,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// Print the rules
    #[arg(long, conflicts_with_all = ["paths", "explain"])]
    pub(crate) list: bool,
    /// Print what there is to say of a rule, or of those that a name stands for
    #[arg(long, value_name = "RULE", conflicts_with = "paths")]
    pub(crate) explain: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: VerifyFormat,
}

/// The assembler that reads what is proposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AssemblerName {
    /// LLVM 22 and 23: many rules are `.cfi_escape`.
    #[default]
    Llvm22,
    /// LLVM 24: rules have directives of their own (`.cfi_llvm_register_pair` and others).
    Llvm24,
}

impl From<AssemblerName> for Assembler {
    fn from(name: AssemblerName) -> Assembler {
        match name {
            AssemblerName::Llvm22 => Assembler::Llvm22,
            AssemblerName::Llvm24 => Assembler::Llvm24,
        }
    }
}

/// Who asks for a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProfileName {
    /// Who works on a compiler, an assembler or a linker: everything.
    Compiler,
    /// Who ships code objects: errors and warnings.
    Release,
    /// Who takes the compiler as it is: errors are notes that say what a debugger shows wrongly.
    Application,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Profile {
        match name {
            ProfileName::Compiler => Profile::Compiler,
            ProfileName::Release => Profile::Release,
            ProfileName::Application => Profile::Application,
        }
    }
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerifyFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// Annotations of a GitHub workflow.
    Github,
    /// A line for each finding, which stays the same when code only moves: for `FileCheck` and grep.
    Lines,
    /// `JUnit` XML, for other CIs.
    Junit,
    /// Records: a line of JSON for each finding and each file, as files are finished. `hetdwarf merge` makes reports of them.
    Jsonl,
}

/// How a document is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    Text,
    Json,
    Sarif,
    Github,
    Lines,
    Junit,
}

impl VerifyFormat {
    /// The format, if it is that of one document.
    pub(crate) fn document(self) -> Option<DocumentFormat> {
        Some(match self {
            VerifyFormat::Text => DocumentFormat::Text,
            VerifyFormat::Json => DocumentFormat::Json,
            VerifyFormat::Sarif => DocumentFormat::Sarif,
            VerifyFormat::Github => DocumentFormat::Github,
            VerifyFormat::Lines => DocumentFormat::Lines,
            VerifyFormat::Junit => DocumentFormat::Junit,
            VerifyFormat::Jsonl => return None,
        })
    }
}
