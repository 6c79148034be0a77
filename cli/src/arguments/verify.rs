//! The arguments of `verify`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::PossibleValue;
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

A repository keeps its choices in hetdwarf.toml, which is looked up from the current directory upwards:
  [verify]
  allow = [\"RULE\"]          # also warn, deny; command line options take precedence
  exclude = [\"third_party\"]  # paths relative to the file; names without / match in any directory
  baseline = \"known.json\"      # in the directory of the file or below

Exit status: 0 no error was found, 1 errors were found, 2 something could not be
checked, or there was nothing to check.";

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Code objects, bundles, archives, host objects and programs, or directories of them; `-` reads standard input
    #[arg(value_name = "PATH", required_unless_present_any = ["list", "explain"])]
    pub(crate) paths: Vec<PathBuf>,
    /// Check only these rules; `cfi-*` matches names by prefix, `machine-code` the rules that read machine code
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) rules: Vec<String>,
    /// Ignore findings of this rule
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Report findings of this rule as warnings
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) warn: Vec<String>,
    /// Report findings of this rule as errors
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// Choose the severity of findings for this audience [default: that of hetdwarf.toml, or compiler]
    #[arg(long, value_enum, value_name = "WHO")]
    pub(crate) profile: Option<ProfileName>,
    /// Use N threads [default: the number of processors]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Check only part I of N (from 1), which is every N-th file of the sorted list; `hetdwarf merge` joins the records
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Report only findings that are not in this baseline
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all findings to this baseline, and report none
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub(crate) write_baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArguments,
    /// Read choices from this file instead of hetdwarf.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Report every finding instead of one per cause
    #[arg(long)]
    pub(crate) each: bool,
    /// Print only a table of rules with counts
    #[arg(long, conflicts_with_all = ["each", "list", "explain"])]
    pub(crate) summary: bool,
    /// Use this encoding of the heterogeneous operations
    #[arg(long, value_enum, default_value_t)]
    pub(crate) dialect: DialectName,
    /// Print proposed directives for this assembler
    #[arg(long, value_enum, default_value_t)]
    pub(crate) assembler: AssemblerName,
    #[command(flatten)]
    pub(crate) sources: SourceArguments,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// List the rules
    #[arg(long, conflicts_with_all = ["paths", "explain"])]
    pub(crate) list: bool,
    /// Explain a rule, or the rules that match a pattern
    #[arg(long, value_name = "RULE", conflicts_with = "paths")]
    pub(crate) explain: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: VerifyFormat,
}

/// The assembler that proposed directives are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum AssemblerName {
    /// LLVM 22 and 23, where many rules need `.cfi_escape`.
    #[default]
    Llvm22,
    /// LLVM 24, which has directives such as `.cfi_llvm_register_pair`.
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

/// The audience of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProfileName {
    /// For developers of compilers, assemblers and linkers: everything.
    Compiler,
    /// For people who ship code objects: errors and warnings.
    Release,
    /// For users of a compiler: errors become notes about wrong values shown.
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

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerifyFormat {
    /// One document about all files.
    Document(DocumentFormat),
    /// Records for `hetdwarf merge`.
    Jsonl,
}

/// The format of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocumentFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// GitHub workflow annotations.
    Github,
    /// One line per finding, without addresses that change when code moves, for `FileCheck` and grep.
    Lines,
    /// `JUnit` XML with every finding, as with --each, for other CIs.
    Junit,
}

impl Default for VerifyFormat {
    fn default() -> VerifyFormat {
        VerifyFormat::Document(DocumentFormat::default())
    }
}

impl ValueEnum for VerifyFormat {
    fn value_variants<'a>() -> &'a [VerifyFormat] {
        use DocumentFormat::{Github, Json, Junit, Lines, Sarif, Text};
        use VerifyFormat::{Document, Jsonl};
        &[
            Document(Text),
            Document(Json),
            Document(Sarif),
            Document(Github),
            Document(Lines),
            Document(Junit),
            Jsonl,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            VerifyFormat::Document(format) => format.to_possible_value(),
            VerifyFormat::Jsonl => Some(PossibleValue::new("jsonl").help(
                "Records for `hetdwarf merge`: one line of JSON per finding and per file, written as files are finished",
            )),
        }
    }
}
