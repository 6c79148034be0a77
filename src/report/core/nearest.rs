//! Describes the known object nearest to an address.

use core::fmt;
use core::ops::Range;

use serde::Serialize;

use super::super::frame::path;
use super::super::number::Hex;
use super::super::text::{FileNames, source_place};
use super::element::ElementDocument;
use crate::arch::{Lane, LoadAddress, ProcessAddress};
use crate::inspect::{
    HostMemory, Nearest, PointerArgument, Program, Stop, Symbolizer, Whereabouts,
};
use crate::plural::{binary_size, counted};
use crate::untrusted::Untrusted;

/// The least distance from memory, in bytes, at which an address counts as near no memory, unless the memory itself is larger.
const FAR: u64 = 4 << 20;

/// The known object nearest to an address.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct NearestDocument {
    /// The address.
    pub of: Hex,
    /// `mapping`, `argument`, `lds`, `scratch` or `none`.
    pub what: &'static str,
    /// The name of the argument, or the kind of memory.
    pub name: Option<Untrusted<'static>>,
    /// The distance from the object in bytes: positive after its last byte, negative before its first byte, 0 inside it.
    pub distance: i64,
    /// The first address of the memory, and the first address after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[Hex; 2]>,
    /// The element that contains the address. Present for an argument whose element size is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementDocument>,
    /// The place as text for people. It has the element only if the address is known to belong to the argument.
    pub text: Untrusted<'static>,
    /// The text without the element.
    #[serde(skip)]
    place: String,
    /// True if the address is known to belong to the argument.
    #[serde(skip)]
    is_of_argument: bool,
}

impl NearestDocument {
    pub(super) fn new(address: u64, found: &Whereabouts) -> NearestDocument {
        let range = |range: &Range<u64>| Some([Hex::from(range.start), Hex::from(range.end)]);
        let (what, name, range) = match &found.nearest {
            Nearest::NullPage => ("none", Some("null page".to_owned()), None),
            Nearest::Local => ("lds", None, None),
            Nearest::Scratch => ("scratch", None, None),
            Nearest::Argument(argument, memory) => {
                let name = argument.name.clone();
                let name = name.unwrap_or_else(|| format!("argument {}", argument.position));
                ("argument", Some(name), range(memory))
            }
            Nearest::Mapping(memory) => {
                let object = found
                    .code_object
                    .map(|object| format!("code object {object}"));
                ("mapping", object, range(memory))
            }
            Nearest::Nothing => ("none", None, None),
        };
        let element = match &found.nearest {
            Nearest::Argument(argument, _) => ElementDocument::new(argument, address),
            Nearest::NullPage
            | Nearest::Local
            | Nearest::Scratch
            | Nearest::Mapping(_)
            | Nearest::Nothing => None,
        };
        let mut document = NearestDocument {
            of: Hex::from(address),
            what,
            name: name.map(Untrusted::from),
            distance: i64::try_from(found.distance).unwrap_or(match found.distance < 0 {
                true => i64::MIN,
                false => i64::MAX,
            }),
            range,
            element,
            place: WhereText(address, found).to_string(),
            is_of_argument: found.is_of_argument,
            text: Untrusted::default(),
        };
        document.set_text();
        document
    }

    /// Adds the variables that have the index of the element.
    ///
    /// * `access`: the address of the instruction that accessed the address.
    /// * `lanes`: the lanes at fault with their addresses. The first one accessed the address.
    pub(super) fn add_variables(
        &mut self,
        stop: &Stop<'_, '_>,
        access: ProcessAddress,
        lanes: &[(Lane, u64)],
    ) {
        if let Some(element) = &mut self.element {
            element.add_variables(stop, access, lanes);
        }
        self.set_text();
    }

    /// Adds the function and the line of an address in code.
    pub(super) fn add_code(&mut self, code: &str) {
        self.place = format!("{}: {code}", self.place);
        self.set_text();
    }

    fn set_text(&mut self) {
        let place = &self.place;
        self.text = match &self.element {
            Some(element) if self.is_of_argument || element.is_index_of_all() => {
                format!("{place}, as {element}").into()
            }
            Some(_) | None => place.clone().into(),
        };
    }
}

/// Returns the function and the line of an address in a code object as text: `put at particles.hip:13`. Returns `None` if it is not in a function.
pub(super) fn code_at(
    program: &Program<'_>,
    load_address: LoadAddress,
    address: u64,
) -> Option<String> {
    let found = Symbolizer::new([(program, load_address)]).symbolize(address);
    let files = found.frames.iter().filter_map(|frame| frame.file.as_ref());
    let paths: Vec<Untrusted<'static>> = files.map(path).collect();
    let names = FileNames::of(paths.iter().map(Untrusted::raw));
    let innermost = found.frames.first()?;
    let function = Untrusted::from(innermost.function.clone()?);
    let file = innermost.file.as_ref().map(path);
    let place = source_place(file.as_ref().map(|file| names.short(file)), innermost.line);
    Some(format!("{function}{place}"))
}

/// Displays the location of an address.
struct WhereText<'w>(u64, &'w Whereabouts);

impl fmt::Display for WhereText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WhereText(address, found) = self;
        let (what, memory) = match &found.nearest {
            Nearest::NullPage => {
                let from = counted(*address, "byte");
                return write!(f, "{from} after address 0: a null pointer");
            }
            Nearest::Local => return f.write_str("in LDS"),
            Nearest::Scratch => return f.write_str("in scratch"),
            Nearest::Nothing => return f.write_str("in no memory that is known"),
            Nearest::Argument(argument, _) if argument.range.is_none() => {
                return write_dangling(f, *address, argument);
            }
            Nearest::Argument(argument, memory) => {
                let name = named(argument);
                (format!("the memory that {name} points into"), memory)
            }
            Nearest::Mapping(memory) => match (found.code_object, found.distance) {
                (Some(object), _) => (format!("code object {object}"), memory),
                (None, 0) => return write_mapped(f, memory, found.host),
                (None, _) => (mapped(memory), memory),
            },
        };
        let far = u64::try_from(found.distance.unsigned_abs()).unwrap_or(u64::MAX);
        let size = memory.end.saturating_sub(memory.start);
        if far > size.max(FAR) && !found.is_from_base {
            let what = if let Nearest::Argument(argument, _) = &found.nearest {
                format!("that of {}", named(argument))
            } else {
                what
            };
            let side = if found.distance < 0 { "above" } else { "below" };
            let far = binary_size(far);
            return write!(
                f,
                "near no memory of the process (the nearest is {what}, {far} {side})"
            );
        }
        match found.distance {
            0 => write!(f, "in {what}"),
            ..0 => write!(f, "{} before the start of {what}", counted(far, "byte")),
            // The first byte after the end is at a distance of one.
            1 => write!(f, "at the end of {what}"),
            2.. => {
                let past = far - 1;
                write!(f, "{} past the end of {what}", counted(past, "byte"))
            }
        }
    }
}

/// Returns the name of an argument in a sentence.
fn named(argument: &PointerArgument) -> String {
    match &argument.name {
        Some(name) => format!("argument {}", Untrusted::from(name.clone())),
        None => format!("argument {}", argument.position),
    }
}

fn mapped(memory: &Range<u64>) -> String {
    format!("the memory mapped at {:#x}-{:#x}", memory.start, memory.end)
}

/// Writes the place of an address relative to an argument that points into no known memory.
fn write_dangling(
    f: &mut fmt::Formatter<'_>,
    address: u64,
    argument: &PointerArgument,
) -> fmt::Result {
    let from = argument.value;
    let side = if address < from { "before" } else { "after" };
    let far = counted(address.abs_diff(from), "byte");
    let name = named(argument);
    match from {
        0 => write!(f, "{far} after address 0: {name} is a null pointer"),
        _ => write!(
            f,
            "{far} {side} {from:#x}, to which {name} points: no memory of the process is known there"
        ),
    }
}

/// Writes the place of an address in memory that no argument points into.
fn write_mapped(f: &mut fmt::Formatter<'_>, memory: &Range<u64>, host: HostMemory) -> fmt::Result {
    let (start, end) = (memory.start, memory.end);
    match host {
        HostMemory::No => write!(f, "in {}", mapped(memory)),
        HostMemory::Yes => write!(
            f,
            "in host memory of the process ({start:#x}-{end:#x}), which the GPU may have no mapping of: was it allocated with hipMalloc?"
        ),
        HostMemory::Unknown => write!(
            f,
            "in memory of the process that no kernel argument points into ({start:#x}-{end:#x}); if this is host memory, the GPU may have no \
             mapping of it: was it allocated with hipMalloc?"
        ),
    }
}
