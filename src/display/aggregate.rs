//! Formats arrays, vectors, structures, classes and unions. Sources: DWARF 5 §5.5 and §5.7.

use core::fmt::{self, Write as _};

use super::bits::State;
use super::output::Break;
use super::variant::Shown;
use super::{INCOMPLETE, Part, Printer, character, shape};
use crate::debug_info::types::{Member, Representation, Type, TypeId, TypeKind};
use crate::eval::BaseType;

/// The common properties of all rows of an array.
#[derive(Debug)]
struct Grid {
    element: TypeId,
    /// The size of an element and its distance from the next, in bits.
    element_size: u64,
    stride: u64,
    /// The encoding of the elements, if they are characters.
    text: Option<character::Kind>,
    vector: bool,
}

impl<'a> Printer<'a> {
    /// Prints an array or vector.
    pub(super) fn array(&mut self, ty: &Type, part: Part) -> fmt::Result {
        let TypeKind::Array {
            element,
            dimensions,
            stride_in_bits,
            vector,
        } = &ty.kind
        else {
            return self.out.put(INCOMPLETE);
        };
        let element_size = shape::size_in_bits(self.table, *element);
        let counts: Option<Vec<u64>> = dimensions.iter().map(|d| d.count).collect();
        let (Some(element_size), Some(counts)) = (element_size, counts) else {
            return self.out.put(INCOMPLETE);
        };
        if counts.is_empty() {
            return self.out.put(INCOMPLETE);
        }
        let stride = stride_in_bits.unwrap_or(element_size);
        let base = shape::resolve(self.table, *element);
        let kind = byte_or_plain(&base.ty.kind).filter(|_| !vector);
        let text = kind.and_then(|kind| character::Kind::of(kind, base.base_name));
        let grid = Grid {
            element: *element,
            element_size,
            stride,
            text: text.filter(|kind| kind.bit_size() == stride),
            vector: *vector,
        };
        self.rows(&grid, &counts, part)
    }

    /// Prints the remaining `counts` of an array's dimensions: rows, a string, or an element.
    fn rows(&mut self, grid: &Grid, counts: &[u64], part: Part) -> fmt::Result {
        let Some((&count, inner)) = counts.split_first() else {
            // An element larger than its entry is truncated to it, such as a boolean in an array of bits.
            let is_cut = grid.element_size > grid.stride;
            if is_cut && !self.is_scalar(grid.element) {
                return self.out.put(INCOMPLETE);
            }
            let element = Part {
                in_vector: grid.vector,
                bit_field: is_cut.then_some(grid.stride),
                ..part
            };
            return self.value(grid.element, element);
        };
        if let (Some(kind), []) = (grid.text, inner) {
            let size = count.saturating_mul(grid.stride);
            if self.bits.state(part.bit_offset, size) == State::Known {
                return self.string(kind, part.bit_offset, count);
            }
        }
        let below = inner
            .iter()
            .fold(1, |product: u64, &n| product.saturating_mul(n));
        let stride = below.saturating_mul(grid.stride);
        let size = if inner.is_empty() {
            grid.element_size.min(grid.stride)
        } else {
            stride
        };
        self.elements(count, stride, size, part, &|printer, at| {
            printer.rows(grid, inner, at)
        })
    }

    /// Prints `count` equal parts, `stride` bits apart and of `size` bits, with `each`.
    pub(super) fn elements(
        &mut self,
        count: u64,
        stride: u64,
        size: u64,
        part: Part,
        each: &dyn Fn(&mut Printer<'a>, Part) -> fmt::Result,
    ) -> fmt::Result {
        if part.depth >= self.options.max_depth {
            return self.out.put("{...}");
        }
        self.out.put_break(Break::Open)?;
        let (mut index, mut printed) = (0u64, 0u64);
        while index < count && printed < self.options.max_elements {
            if index > 0 {
                self.out.put_break(Break::Next)?;
            }
            let at = part.inner(index.saturating_mul(stride));
            each(self, at)?;
            let run = self.bits.run(at.bit_offset, stride, size, count - index);
            if run > self.options.repeats {
                write!(self.out, " <repeats {run} times>")?;
                // `run` is at least as large as what `printed` grows by, so `printed` is never above `index`.
                index += run;
                printed += self.options.repeats.max(1);
            } else {
                index += 1;
                printed += 1;
            }
        }
        if index < count {
            self.out.put("...")?;
        }
        self.out.put_break(Break::Close)
    }

    /// Prints a structure, class or union: its bases and members.
    pub(super) fn record(&mut self, ty: &Type, members: &'a [Member], part: Part) -> fmt::Result {
        if ty.byte_size.is_none() && members.is_empty() {
            return self.out.put(INCOMPLETE);
        }
        if part.depth >= self.options.max_depth {
            return self.out.put("{...}");
        }
        self.look_through(members.len())?;
        let shown = self.present(members, part);
        // A value that consists of one variant is printed as that variant: `Some(5)`.
        if let ([Shown::Variant { .. }], [_]) = (shown.as_slice(), members) {
            return shown.iter().try_for_each(|shown| self.shown(shown, part));
        }
        let mut separator = Break::Open;
        for shown in &shown {
            self.out.put_break(separator)?;
            separator = Break::Next;
            self.shown(shown, part)?;
        }
        let is_base = |shown: &Shown<'_>| matches!(shown, Shown::Member(member) if member.is_base);
        if shown.iter().all(is_base) {
            self.out.put_break(separator)?;
            self.out.put("<No data fields>")?;
        }
        self.out.put_break(Break::Close)
    }

    /// Prints one member with its name.
    pub(super) fn member(&mut self, member: &Member, part: Part) -> fmt::Result {
        if member.is_base {
            let base = shape::resolve(self.table, member.ty).ty;
            let name = member.name.as_ref().or(base.name.as_ref());
            write!(self.out, "<{}> = ", name.map_or("(anonymous)", |name| name))?;
        } else if let Some(name) = &member.name {
            write!(self.out, "{name} = ")?;
        }
        self.unnamed(member, part)
    }

    /// Prints one member without its name.
    pub(super) fn unnamed(&mut self, member: &Member, part: Part) -> fmt::Result {
        // The offset of a virtual base is in the virtual table, which is not among the bytes.
        let Some(bit_offset) = member.bit_offset else {
            return self.out.put(INCOMPLETE);
        };
        let at = Part {
            bit_field: member.bit_size,
            ..part.inner(bit_offset)
        };
        self.value(member.ty, at)
    }

    /// Returns true if a type has no parts, so that it may have any number of bits.
    fn is_scalar(&self, id: TypeId) -> bool {
        matches!(
            shape::resolve(self.table, id).ty.kind,
            TypeKind::Base(_) | TypeKind::Represented { .. } | TypeKind::Enumeration { .. }
        )
    }
}

/// Returns a base type whose bits are in their usual order, as in any single byte.
fn byte_or_plain(kind: &TypeKind) -> Option<&BaseType> {
    if let TypeKind::Base(base) = kind {
        return Some(base);
    }
    let TypeKind::Represented { base, by } = kind else {
        return None;
    };
    let in_order = Representation {
        big_endian: false,
        ..*by
    };
    Some(base).filter(|base| base.bit_size == 8 && in_order == Representation::PLAIN)
}
