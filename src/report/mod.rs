//! Makes JSON documents for other programs from the results of the layers below.
//!
//! Each document is a structure that is serialized as JSON. The text for people is printed from the same structure. A field is never renamed or
//! removed without a new version in `format`.
//!
//! ```
//! use hetdwarf::report::{RegistersDocument, to_json};
//!
//! let document = RegistersDocument::new(33, 33, None, None, false);
//! let json = to_json(&document)?;
//! assert!(json.starts_with(r#"{"format":"hetdwarf-regs/1","registers":[{"first":33,"last":33,"name":"s1","llvm_name":"SGPR1","bit_size":32"#));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod absent;
mod all_waves;
mod annotate;
mod compare;
mod completeness;
mod core;
mod core_page;
mod coverage;
mod eval;
mod frame;
mod info;
mod json;
mod lane_pc;
mod lane_pc_html;
mod lane_pc_picture;
mod lane_pc_svg;
mod named;
mod number;
mod place;
mod print;
mod profile;
mod profile_page;
mod records;
mod registers;
pub mod source_text;
mod symbolize;
pub mod text;
mod unwind;
mod vars;
mod verify;

pub use self::core::{
    AgentDocument, AssertionDocument, CoreDocument, CoreNoteDocument, CoreObjectDocument,
    CoreReport, CoreRequest, CoreWaveDocument, CoreWaveLine, DispatchDocument, DivergentDocument,
    ElementDocument, EventDocument, FaultCandidateDocument, FaultDocument, FaultLaneDocument,
    FoundObject, GroupBy, GroupDocument, LogDocuments, LoggedStop, NearestDocument,
    OffLanesDocument, PolledDocument, ProblemDocument, QueueDocument, VerdictDocument,
    WorkgroupDocument, offset_in_function, own_frame, unread,
};
pub use absent::{AbsentLanes, NOT_ENTERED, NOT_STARTED};
pub use all_waves::{AllWavesDocument, WaveGroup, WaveGroups};
pub use annotate::{AnnotateDocument, AnnotateFunction, AnnotateVariable};
pub use compare::{
    ChangeDocument, CompareDocument, CompareFunction, CompareVariable, DifferenceDocument,
    ShareDocument,
};
pub use completeness::Completeness;
pub use core_page::{CorePage, WithStop};
pub use coverage::{
    CallPathDocument, CoverageDocument, CoverageFile, CoverageFunction, CoverageVariable,
    CoveredDocument, LossDocument,
};
pub use eval::{
    EvalDocument, EvalLane, EvalOptions, EvalRequest, ReadDocument, ResultDocument, Source,
    SourceError, TypeDocument, evaluate_all,
};
pub use frame::FrameDocument;
pub use info::{
    CallFramesDocument, EmbeddedDocument, InfoDocument, ObjectDocument, PackagesDocument,
    UnitDocument,
};
pub use json::{safe_line, to_json, to_json_pretty, write_json_pretty};
pub use lane_pc::{LanePcCaller, LanePcDocument, LanePcLane};
pub use lane_pc_picture::LanePicture;
pub use number::{Hex, hex_bytes, parse_hex_bytes};
pub use place::{PartDocument, PlaceDocument, places};
pub use print::{ExpressionDocument, PrintDocument, QueryErrorDocument, WaitingAnswers};
pub use profile::{
    BranchDocument, CyclesDocument, DivergenceDocument, ProfileDocument, ProfileRow,
};
pub use profile_page::ProfilePage;
pub use records::{
    CrashDocument, CrashExample, Crashes, CrashesDocument, CrashesPage, ErrorRecord, FrameRecord,
    Record, RecordKey, TreeNode, WaveFacts, WaveRecord,
};
pub use registers::{RegisterRow, RegistersDocument};
pub use symbolize::{SymbolDocument, SymbolizedDocument, SymbolizedFrame};
pub use unwind::{
    CallDocument, CfaDocument, RegisterDocument, RegisterValue, UnwindDocument, UnwindFrame,
    UnwindLane,
};
pub use vars::{
    AsOfDocument, ChildDocument, DeclarationDocument, EmptyReason, FrameVariables, HiddenDocument,
    LaneChoice, LaneDocument, NameFilter, RecoveredDocument, RecoveredDocuments, TypeText,
    ValueNote, ValueText, VariableDocument, VarsDocument, VarsRequest, lane_message,
};
pub use verify::{
    Baseline, BaselineEntry, BaselineKey, CheckedFile, CheckedObject, FileRecord, FileRecords,
    FindingDocument, FindingGroup, FindingRecord, FolderRecord, Gathering, KnownFindings,
    OtherPlace, RuleDocument, RuleSummary, RulesDocument, SarifLog, SourceDocument,
    SummaryDocument, UnreadableFile, VerifiedFile, VerifyDocument, VerifySummary, WIDESPREAD,
    check_file, check_file_with, check_file_within, check_host_file, check_named_file,
    check_packaged_file, github_annotations, junit, lines, sha256, unchecked,
};

use crate::error::Error;
use crate::untrusted::Untrusted;

/// An error in a document.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ErrorDocument {
    /// The kind's name.
    pub kind: &'static str,
    /// The offset of the operation from the start of its expression, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<&'static str>,
    /// The whole error as text for people.
    pub message: Untrusted<'static>,
}

impl From<&Error> for ErrorDocument {
    fn from(error: &Error) -> ErrorDocument {
        ErrorDocument {
            kind: error.kind().name(),
            offset: error.offset(),
            op: error.operation(),
            message: error.to_string().into(),
        }
    }
}
