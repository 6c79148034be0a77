//! Answers and events of the Debug Adapter Protocol, with the fields that this adapter uses. A field without a value is left out, as the
//! protocol's schema requires.
//!
//! Source: Debug Adapter Protocol, "Requests", "Events" and "Types".

use hetdwarf::report::{FaultDocument, GroupDocument};
use hetdwarf::untrusted::Untrusted;
use serde::Serialize;

/// The body of a response.
#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(super) enum Body<'s> {
    /// The response has no body.
    None,
    /// `initialize`
    Capabilities(Capabilities),
    /// `setBreakpoints` and similar requests, `breakpointLocations`
    Breakpoints { breakpoints: [(); 0] },
    /// `threads`
    Threads { threads: Vec<Thread> },
    /// `stackTrace`
    StackTrace {
        stack_frames: Vec<StackFrame>,
        total_frames: usize,
    },
    /// `scopes`
    Scopes { scopes: Vec<Scope> },
    /// `variables`
    Variables { variables: Vec<Variable> },
    /// `evaluate`
    Evaluate(Evaluated),
    /// `completions`
    Completions { targets: Vec<CompletionItem> },
    /// `source`
    Source { content: String },
    /// `loadedSources`
    LoadedSources { sources: Vec<Source> },
    /// `modules`
    Modules {
        modules: Vec<Module>,
        total_modules: usize,
    },
    /// `exceptionInfo`
    ExceptionInfo(ExceptionInfo<'s>),
    /// `disassemble`
    Disassemble {
        instructions: Vec<DisassembledInstruction>,
    },
    /// `readMemory`
    Memory(Memory),
    /// `hetdwarf/groups`
    Groups { groups: &'s [GroupDocument] },
    /// `hetdwarf/lanes`
    Lanes {
        lanes: Vec<LanePlace>,
        focus: Option<u8>,
    },
    /// A request that failed
    Error { error: ErrorMessage },
}

impl Body<'_> {
    /// An empty list of breakpoints: nothing runs, so none can be hit.
    pub(super) const NO_BREAKPOINTS: Self = Body::Breakpoints { breakpoints: [] };

    /// Returns true if the response has no body.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Body::None)
    }
}

/// An event.
#[derive(Debug, Serialize)]
#[serde(
    tag = "event",
    content = "body",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(super) enum Event {
    Initialized {},
    #[serde(rename_all = "camelCase")]
    Stopped(Stopped),
    Invalidated {
        areas: [&'static str; 1],
        thread_id: usize,
    },
    LoadedSource {
        reason: &'static str,
        source: Source,
    },
    Output {
        category: &'static str,
        output: String,
    },
    Terminated {},
}

/// The capabilities of the adapter. A feature without a field is absent.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Capabilities {
    pub(super) supports_configuration_done_request: bool,
    pub(super) supports_delayed_stack_trace_loading: bool,
    pub(super) supports_evaluate_for_hovers: bool,
    pub(super) supports_read_memory_request: bool,
    pub(super) supports_disassemble_request: bool,
    pub(super) supports_modules_request: bool,
    pub(super) supports_exception_info_request: bool,
    pub(super) supports_loaded_sources_request: bool,
    pub(super) supports_completions_request: bool,
    pub(super) completion_trigger_characters: [&'static str; 3],
    pub(super) supports_clipboard_context: bool,
    pub(super) supports_value_formatting_options: bool,
    pub(super) supports_terminate_request: bool,
    pub(super) supports_cancel_request: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ErrorMessage {
    pub(super) id: u32,
    pub(super) format: String,
    #[serde(rename = "showUser")]
    pub(super) show_user: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Thread {
    pub(super) id: usize,
    pub(super) name: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stopped {
    pub(super) reason: &'static str,
    pub(super) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Untrusted<'static>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thread_id: Option<usize>,
    pub(super) all_threads_stopped: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackFrame {
    pub(super) id: i64,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Source>,
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) instruction_pointer_reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) module_id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presentation_hint: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Source {
    pub(super) name: Untrusted<'static>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_reference: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<Untrusted<'static>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Scope {
    pub(super) name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presentation_hint: Option<&'static str>,
    pub(super) variables_reference: i64,
    pub(super) expensive: bool,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) ty: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) evaluate_name: Option<String>,
    /// 0 if it has no children.
    pub(super) variables_reference: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) indexed_variables: Option<u64>,
    /// The address of the value; for a pointer, the address that it points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory_reference: Option<String>,
}

/// The result of an expression or a command of the console.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Evaluated {
    pub(super) result: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) ty: Option<String>,
    pub(super) variables_reference: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) indexed_variables: Option<u64>,
    /// The address of the value; for a pointer, the address that it points to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory_reference: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct CompletionItem {
    pub(super) label: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    /// The column at which the replaced text starts, and its length, both in UTF-16 units.
    pub(super) start: u64,
    pub(super) length: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Module {
    pub(super) id: usize,
    pub(super) name: Untrusted<'static>,
    pub(super) path: Untrusted<'static>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<Untrusted<'static>>,
    pub(super) symbol_status: &'static str,
    pub(super) address_range: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExceptionInfo<'s> {
    pub(super) exception_id: String,
    pub(super) description: Untrusted<'static>,
    pub(super) break_mode: &'static str,
    pub(super) details: ExceptionDetails<'s>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExceptionDetails<'s> {
    pub(super) message: Untrusted<'static>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) type_name: Option<String>,
    /// The access that may have faulted. This field is not part of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<&'s FaultDocument>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DisassembledInstruction {
    pub(super) address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instruction_bytes: Option<String>,
    pub(super) instruction: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) symbol: Option<String>,
    /// The source file. Absent if it is the same as for the previous instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) location: Option<Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presentation_hint: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Memory {
    pub(super) address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unreadable_bytes: Option<u64>,
    /// The bytes in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<String>,
}

/// The position of a lane, as `hetdwarf/lanes` returns it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LanePlace {
    pub(super) lane: u8,
    pub(super) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) work_item: Option<[u32; 3]>,
    /// The position where a lane continues, if it waits or is in a caller.
    #[serde(flatten)]
    pub(super) there: Option<LaneThere>,
}

/// The position where a lane continues.
#[derive(Debug, Serialize)]
pub(super) struct LaneThere {
    pub(super) frame: usize,
    pub(super) pc: String,
    pub(super) file: Option<Untrusted<'static>>,
    pub(super) line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Source>,
}
