//! Reads the runtime's own error messages, with or without the agent.
//!
//! Source: ROCR-Runtime `core/runtime/runtime.cpp` (`VMFaultHandler`, `HwExceptionHandler`); CLR `rocclr/device/rocm`; the agent's `README.md`.

/// A message of the runtime.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeEvent {
    /// The launchers' prefix of the line, with `@` for times.
    pub rank: String,
    /// The meaning.
    pub kind: EventKind,
    /// The message, without the prefix.
    pub text: String,
}

/// The kind of an event.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An access to memory faulted.
    MemoryFault {
        /// The address of the page.
        address: u64,
        /// The reason, as the end of a sentence about the address; `None` if the runtime does not know it.
        reason: Option<String>,
    },
    /// A GPU hang, or another kind of exception.
    HardwareException,
    /// A queue ended with an error.
    QueueError,
    /// A kernel dispatch.
    Dispatch {
        /// The address of the kernel's descriptor.
        kernel_object: u64,
        /// The address of the arguments.
        kernarg: u64,
        /// The grid and the workgroup, in work-items.
        sizes: Option<[[u32; 3]; 2]>,
    },
}

/// Every line with an event has one of these bytes; register lines, the most frequent ones, have none.
const MARKS: &[u8] = b"FHMg(=";
/// The maximum length of a stored text, in bytes.
const LONGEST: usize = 1024;
/// The maximum length of a launcher's prefix, in bytes.
const LONGEST_PREFIX: usize = 80;

impl RuntimeEvent {
    /// Reads a line.
    pub(super) fn of_line(line: &str) -> Option<RuntimeEvent> {
        if !line.bytes().any(|byte| MARKS.contains(&byte)) {
            return None;
        }
        let from = |at: usize| line.split_at_checked(at);
        let event = |at: usize, kind: EventKind| {
            let (prefix, text) = from(at)?;
            let mut ends = (0..=LONGEST.min(text.len())).rev();
            let end = ends.find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            Some(RuntimeEvent {
                rank: match prefix.len() <= LONGEST_PREFIX {
                    true => prefix.trim().to_owned(),
                    false => String::new(),
                },
                kind,
                text: text.get(..end).unwrap_or_default().to_owned(),
            })
        };
        if let Some(at) = line.find("Memory access fault by GPU") {
            let address = number_after(line, " on address 0x")?;
            let reason = fault_reason(line);
            return event(at, EventKind::MemoryFault { address, reason });
        }
        if let Some(at) = line.find("Faulting page: 0x") {
            let address = number_after(line, "Faulting page: 0x")?;
            let reason = fault_reason(line);
            return event(at, EventKind::MemoryFault { address, reason });
        }
        if let Some(at) = line.find("HW Exception by GPU") {
            return event(at, EventKind::HardwareException);
        }
        if let Some(at) = line.find(" kernel_obj=0x") {
            let kernel_object = number_after(line, " kernel_obj=0x")?;
            let kernarg = number_after(line, " kernarg_address=0x").unwrap_or(0);
            let sizes = sizes_after(line, "grid=[").zip(sizes_after(line, "workgroup=["));
            let kind = EventKind::Dispatch {
                kernel_object,
                kernarg,
                sizes: sizes.map(|(grid, workgroup)| [grid, workgroup]),
            };
            return event(at, kind);
        }
        let errors = [
            "aborting with error :",
            "Queue error (HSA_STATUS_",
            "System event (HSA_",
        ];
        let at = errors.iter().find_map(|text| line.find(text))?;
        event(at, EventKind::QueueError)
    }
}

/// The runtime's reasons for faults, with the end of a sentence about the address.
const REASONS: &[(&str, &str)] = &[
    (
        "Page not present or supervisor privilege",
        "a page that is not present or only for the supervisor",
    ),
    (
        "Write access to a read-only page",
        "a write to a read-only page",
    ),
    (
        "Execute access to a page marked NX",
        "execution of a page without execute permission",
    ),
];
/// The maximum length of another reason, in bytes.
const LONGEST_REASON: usize = 100;

/// Returns the reason for a fault in a line.
fn fault_reason(line: &str) -> Option<String> {
    let (_, reason) = line.split_once("Reason: ")?;
    let reason = reason.trim().trim_end_matches('.');
    if reason.is_empty() || reason == "Unknown" || reason.len() > LONGEST_REASON {
        return None;
    }
    let known = REASONS.iter().find(|(text, _)| *text == reason);
    Some(known.map_or_else(
        || format!("reason \"{reason}\""),
        |(_, meaning)| (*meaning).to_owned(),
    ))
}

/// Returns the hexadecimal number after a text.
fn number_after(line: &str, before: &str) -> Option<u64> {
    let (_, rest) = line.split_once(before)?;
    let end = rest
        .find(|c: char| !c.is_ascii_hexdigit())
        .unwrap_or(rest.len());
    u64::from_str_radix(rest.get(..end)?, 16).ok()
}

/// Returns three numbers after a text, up to `]`.
fn sizes_after(line: &str, before: &str) -> Option<[u32; 3]> {
    let (_, rest) = line.split_once(before)?;
    let (numbers, _) = rest.split_once(']')?;
    let numbers: Vec<u32> = numbers
        .split(',')
        .map(|number| number.trim().parse().ok())
        .collect::<Option<_>>()?;
    <[u32; 3]>::try_from(numbers).ok()
}
