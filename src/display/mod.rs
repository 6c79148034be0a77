//! Formats typed values as C-like text, in gdb's form.
//!
//! The origin of the bytes is left to the callers: a value is its bytes, its type, and the mask of missing bits. A missing part does not affect the
//! rest: `{x = 1, y = <optimized out>}`.
//!
//! It intentionally differs from gdb: a character is `'a'` without its number, and a floating-point number has the fewest digits that read back to
//! the same bits. A pointer has no symbol, and outside the default address space it has the name of its space: `private_lane#0x10`.
//!
//! ```
//! use hetdwarf::debug_info::types::{Member, Type, TypeKind, TypeTable};
//! use hetdwarf::display::{self, Mask, Options, TypedBytes};
//! use hetdwarf::eval::{BaseType, BaseTypeEncoding};
//!
//! let mut table = TypeTable::default();
//! let int = BaseType::scalar(BaseTypeEncoding::Signed, 32);
//! let int = table.add(Type::new(Some("int".to_owned()), Some(4), TypeKind::Base(int)));
//! let dimensions = vec![hetdwarf::debug_info::types::Dimension::of(Some(2))];
//! let pair = TypeKind::Array { element: int, dimensions, stride_in_bits: None, vector: false };
//! let pair = table.add(Type::new(None, None, pair));
//!
//! let mut value = TypedBytes::known(&[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
//! assert_eq!(display::to_string(&table, pair, &value, &Options::default()), "{1, -1}");
//! // The second element was optimised away.
//! let lost = Mask::from_iter([32..64]);
//! value.undefined = &lost;
//! assert_eq!(display::to_string(&table, pair, &value, &Options::default()), "{1, <optimized out>}");
//! ```
//!
//! Sources: DWARF 5 §5 and §7.8; [HET](crate) A.5.1 (vector base types).

mod aggregate;
mod bits;
mod character;
mod digits;
mod enumeration;
mod float;
mod form;
mod number;
mod output;
mod pointer;
mod represented;
mod scalar;
pub(crate) mod shape;
#[cfg(test)]
mod tests;
mod variant;

use core::fmt::{self, Write as _};

use crate::debug_info::types::{Type, TypeId, TypeKind, TypeTable};
use crate::limits::Limits;
pub use crate::location::Mask;
use crate::meter::Meter;
use bits::Bits;
#[cfg(feature = "serde")]
pub(crate) use digits::push_hex;
pub(crate) use form::{Dword, Form};
pub use number::{Number, ScalarFormat, ScalarKind, ScalarPlace, numbers, scalar_format};
use output::Output;
pub use output::{Break, Mark};
pub use shape::{size_in_bits, size_in_bytes};
pub(crate) use variant::{Present, payload_of, present, present_variant};

/// A value: its bytes, and the masks of missing bits.
#[derive(Clone, Copy, Debug)]
pub struct TypedBytes<'a> {
    /// The bytes in address order, so that bit 0 of a mask is the lowest bit of the first byte. Missing bits must be zero, so that elements with the
    /// same missing bits are equal. Bytes that the type has beyond these are unavailable.
    pub bytes: &'a [u8],
    /// The bits that the program no longer holds, which print as `<optimized out>`.
    pub undefined: &'a Mask,
    /// The bits that the debugger could not read, which print as `<unavailable>`.
    pub unavailable: &'a Mask,
}

impl<'a> TypedBytes<'a> {
    /// Returns a completely known value.
    #[must_use]
    pub fn known(bytes: &'a [u8]) -> TypedBytes<'a> {
        const NONE: &Mask = &Mask::new();
        TypedBytes {
            bytes,
            undefined: NONE,
            unavailable: NONE,
        }
    }

    /// Returns true if no bit is missing.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.undefined.is_empty() && self.unavailable.is_empty()
    }

    /// Returns the bytes and masks of bits that were read.
    #[must_use]
    pub fn of(bits: &'a crate::location::Bits) -> TypedBytes<'a> {
        TypedBytes {
            bytes: &bits.bytes,
            undefined: &bits.undefined,
            unavailable: &bits.unavailable,
        }
    }
}

/// The target of an implicit pointer. The pointer has no bits, but its target has a text.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointee {
    /// The offset of the pointer in the value, in bits.
    pub bit_offset: u64,
    /// The text of its target.
    pub text: String,
}

/// Limits on the text of a value.
///
/// The defaults are gdb's, except `max_chars`, which gdb does not have: it limits the text of nested matrices, or of malicious types.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The maximum number of elements printed of one array, and characters of one string; `...` stands for the rest. A run of repeated elements that
    /// is printed as one counts as `repeats`.
    pub max_elements: u64,
    /// The maximum number of equal neighbors printed one by one. Longer runs print as `0 <repeats 15 times>`.
    pub repeats: u64,
    /// The maximum depth of nested structures and arrays. Deeper ones print as `{...}`.
    pub max_depth: u32,
    /// The maximum number of characters in all; `...` stands for the rest.
    pub max_chars: usize,
    /// True if integers are printed in hexadecimal, negative ones as the two's complement of their size. Characters, booleans and names of
    /// enumerators are printed as always.
    pub hexadecimal: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_elements: 200,
            repeats: 10,
            max_depth: 20,
            max_chars: 65536,
            hexadecimal: false,
        }
    }
}

/// Prints a value of type `id` of `table` to `out`.
///
/// There is a text for every type and every byte: unreadable parts print as `<optimized out>`, `<unavailable>` or `<incomplete type>`.
///
/// # Errors
/// Only if `out` fails.
///
/// Source: the output of gdb 13 for the same value.
pub fn print(
    table: &TypeTable,
    id: TypeId,
    value: &TypedBytes<'_>,
    options: &Options,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    print_with(table, id, value, &[], options, out)
}

/// Prints a value like [`print()`], with pointers that were optimized away as `(int *) → 42`.
///
/// # Errors
/// Only if `out` fails.
pub fn print_with(
    table: &TypeTable,
    id: TypeId,
    value: &TypedBytes<'_>,
    pointees: &[Pointee],
    options: &Options,
    out: &mut dyn fmt::Write,
) -> fmt::Result {
    let meter = Meter::new(&Limits::DEFAULT, value.bytes.len() as u64);
    Value {
        table,
        id,
        value,
        pointees,
        options,
    }
    .print(&meter, out, None)
}

/// A value to print, with its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'v> {
    pub(crate) table: &'v TypeTable,
    pub(crate) id: TypeId,
    pub(crate) value: &'v TypedBytes<'v>,
    pub(crate) pointees: &'v [Pointee],
    pub(crate) options: &'v Options,
}

impl Value<'_> {
    /// Prints like [`print_with()`] as part of a query. Work that produces little text, such as searching a million enumerators, is charged too. The
    /// text ends in `...` if the budget is exceeded.
    ///
    /// * `marks`: receives the places where the text can be broken into lines.
    pub(crate) fn print(
        &self,
        meter: &Meter,
        out: &mut dyn fmt::Write,
        marks: Option<&mut Vec<Mark>>,
    ) -> fmt::Result {
        let mut printer = self.printer(meter, out, marks);
        let printed = printer.whole(self.id);
        printer.out.finish(printed)
    }

    /// Returns the text that [`print`](Value::print) prints.
    pub(crate) fn text(&self, meter: &Meter) -> String {
        let mut text = String::new();
        let printed = self.print(meter, &mut text, None);
        debug_assert!(printed.is_ok(), "a String takes everything");
        text
    }

    /// Returns the text of a bit-field that is the lowest `bit_size` bits of the value.
    pub(crate) fn bit_field_text(&self, bit_size: u64, meter: &Meter) -> String {
        let mut text = String::new();
        let mut printer = self.printer(meter, &mut text, None);
        let part = Part {
            bit_field: Some(bit_size),
            ..Part::WHOLE
        };
        let printed = printer.value(self.id, part);
        let finished = printer.out.finish(printed);
        debug_assert!(finished.is_ok(), "a String takes everything");
        text
    }

    fn printer<'p>(
        &'p self,
        meter: &'p Meter,
        out: &'p mut dyn fmt::Write,
        marks: Option<&'p mut Vec<Mark>>,
    ) -> Printer<'p> {
        Printer {
            pointees: self.pointees,
            ..Printer::new(self.table, self.value, self.options, meter, out, marks)
        }
    }
}

/// Returns the text of a value of type `id` of `table`; see [`print()`].
///
/// ```
/// use hetdwarf::debug_info::types::{Type, TypeKind, TypeTable};
/// use hetdwarf::display::{self, Mask, Options, TypedBytes};
///
/// let mut table = TypeTable::default();
/// let ty = table.add(Type::new(None, Some(8), TypeKind::Unspecified));
/// let mut value = TypedBytes::known(&[0x10, 0, 0, 0, 0, 0, 0, 0]);
/// assert_eq!(display::to_string(&table, ty, &value, &Options::default()), "0x10");
///
/// let lost = Mask::from_iter([0..64]);
/// value.undefined = &lost;
/// assert_eq!(display::to_string(&table, ty, &value, &Options::default()), "<optimized out>");
/// ```
#[must_use]
pub fn to_string(
    table: &TypeTable,
    id: TypeId,
    value: &TypedBytes<'_>,
    options: &Options,
) -> String {
    to_string_with(table, id, value, &[], options)
}

/// Returns the text of a value with pointers that were optimized away; see [`print_with()`].
#[must_use]
pub fn to_string_with(
    table: &TypeTable,
    id: TypeId,
    value: &TypedBytes<'_>,
    pointees: &[Pointee],
    options: &Options,
) -> String {
    let mut text = String::new();
    let printed = print_with(table, id, value, pointees, options, &mut text);
    debug_assert!(printed.is_ok(), "a String takes everything");
    text
}

/// The place of a part in the value, and its context.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The first bit.
    bit_offset: u64,
    /// The size of a bit-field.
    bit_field: Option<u64>,
    /// True if it is an element of a vector, where characters are numbers.
    in_vector: bool,
    /// The number of structures and arrays around it.
    depth: u32,
}

impl Part {
    /// The value itself.
    const WHOLE: Part = Part {
        bit_offset: 0,
        bit_field: None,
        in_vector: false,
        depth: 0,
    };

    /// Returns the part `bit_offset` bits further in, one level deeper.
    fn inner(self, bit_offset: u64) -> Part {
        Part {
            bit_offset: self.bit_offset.saturating_add(bit_offset),
            bit_field: None,
            in_vector: false,
            depth: self.depth + 1,
        }
    }
}

/// The value being printed, and the destination.
#[derive(Debug)]
struct Printer<'a> {
    table: &'a TypeTable,
    bits: Bits<'a>,
    pointees: &'a [Pointee],
    options: &'a Options,
    meter: &'a Meter,
    out: Output<'a>,
}

impl<'a> Printer<'a> {
    fn new(
        table: &'a TypeTable,
        value: &'a TypedBytes<'a>,
        options: &'a Options,
        meter: &'a Meter,
        out: &'a mut dyn fmt::Write,
        marks: Option<&'a mut Vec<Mark>>,
    ) -> Printer<'a> {
        Printer {
            table,
            bits: Bits::new(value),
            pointees: &[],
            options,
            meter,
            out: Output::new(out, options.max_chars, marks),
        }
    }

    /// Prints the value itself. As in gdb, `<optimized out>` replaces a whole structure only here. A nested structure shows its members, each as
    /// lost.
    fn whole(&mut self, id: TypeId) -> fmt::Result {
        let size = size_in_bits(self.table, id).unwrap_or(0);
        if let Some(lost) = self.bits.state_of_all(0, size).text()
            && self.pointees.is_empty()
        {
            return self.out.put(lost);
        }
        self.value(id, Part::WHOLE)
    }

    /// Charges for `steps`. If the budget is exceeded, the text ends here.
    fn pay(&mut self, steps: u64) -> fmt::Result {
        self.meter.work(steps).or_else(|_| self.out.cut())
    }

    /// Charges for searching this many members, enumerators or variants.
    fn look_through(&mut self, count: usize) -> fmt::Result {
        self.pay((count as u64).div_ceil(LOOKED_AT_PER_STEP))
    }

    /// Prints the part of the value that has type `id`.
    fn value(&mut self, id: TypeId, part: Part) -> fmt::Result {
        self.pay(1)?;
        let resolved = shape::resolve(self.table, id);
        let ty = resolved.ty;
        match &ty.kind {
            TypeKind::Void => self.out.put("void"),
            TypeKind::Base(base) => self.base(base, resolved.base_name, part),
            TypeKind::Represented { base, by } => {
                self.represented(base, by, resolved.base_name, part)
            }
            TypeKind::Pointer {
                kind,
                address_space,
                ..
            } => match self.pointee(part) {
                Some(text) => self.implicit_pointer(id, text),
                None => self.pointer(*kind, *address_space, ty.byte_size, part),
            },
            TypeKind::Array { .. } => self.array(ty, part),
            TypeKind::Record { members, .. } => self.record(ty, members, part),
            TypeKind::Enumeration {
                underlying,
                enumerators,
            } => self.enumeration(ty, *underlying, enumerators, part),
            TypeKind::MemberPointer { class, target } => {
                self.member_pointer(ty, *class, *target, part)
            }
            TypeKind::Function { .. } => self.out.put("<function>"),
            TypeKind::Variants { .. } => self.variant_part(ty, part),
            TypeKind::Unspecified => self.unspecified(ty, part),
            TypeKind::Unsupported(name) => write!(self.out, "<unsupported: {name}>"),
            TypeKind::Typedef(_) | TypeKind::Qualified(..) => self.out.put(INCOMPLETE),
        }
    }

    /// Prints a type that is known only by name: its bits, if their number is known. The type of `nullptr` has one value.
    fn unspecified(&mut self, ty: &Type, part: Part) -> fmt::Result {
        match (ty.byte_size, &ty.name) {
            _ if ty.is_null_pointer() => self.out.put("nullptr"),
            (Some(size), _) => self.hexadecimal(part.bit_offset, size.saturating_mul(8)),
            (None, Some(name)) => write!(self.out, "<unspecified type {name}>"),
            (None, None) => self.out.put(INCOMPLETE),
        }
    }
}

/// The number of enumerators, members or variants searched for each step.
const LOOKED_AT_PER_STEP: u64 = 8;

/// The text for a value whose size or location the debugging information does not give.
const INCOMPLETE: &str = "<incomplete type>";
