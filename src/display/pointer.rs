//! Formats pointers, references, addresses, and pointers to members.
//!
//! Sources: DWARF 5 §5.3, §5.14; USAGE "Address Space Identifier". Pointers to members have the layout of the Itanium C++ ABI §2.3.

use core::fmt::{self, Write as _};

use super::{INCOMPLETE, Part, Printer, shape};
use crate::arch::AddressSpace;
use crate::debug_info::type_name;
use crate::debug_info::types::{PointerKind, Type, TypeId, TypeKind};

impl<'a> Printer<'a> {
    /// Prints a pointer, or a reference with an `@` before it.
    pub(super) fn pointer(
        &mut self,
        kind: PointerKind,
        space: AddressSpace,
        byte_size: Option<u64>,
        part: Part,
    ) -> fmt::Result {
        let Some(size) = byte_size else {
            return self.out.put(INCOMPLETE);
        };
        let size = size.saturating_mul(8);
        if let Some(lost) = self.bits.state(part.bit_offset, size).text() {
            return self.out.put(lost);
        }
        match kind {
            PointerKind::Pointer => {}
            PointerKind::Reference | PointerKind::RvalueReference => self.out.put("@")?,
        }
        self.address(space, part.bit_offset, size)
    }

    /// Returns the text for the target of a pointer that was optimized away.
    pub(super) fn pointee(&self, part: Part) -> Option<&'a str> {
        let found = self.pointees.iter();
        let mut found = found.filter(|pointee| pointee.bit_offset == part.bit_offset);
        found.next().map(|pointee| pointee.text.as_str())
    }

    /// Prints the known target of a pointer of type `id` that has no bits.
    pub(super) fn implicit_pointer(&mut self, id: TypeId, target: &str) -> fmt::Result {
        write!(self.out, "({}) → {target}", type_name(self.table, id))
    }

    /// Prints an address with its space, unless that is the default space.
    pub(super) fn address(&mut self, space: AddressSpace, offset: u64, size: u64) -> fmt::Result {
        if let Some(lost) = self.bits.state(offset, size).text() {
            return self.out.put(lost);
        }
        if space != AddressSpace::None {
            write!(self.out, "{}#", space.name())?;
        }
        self.hexadecimal(offset, size)
    }

    /// Prints a pointer to a member of `class` of type `target`.
    pub(super) fn member_pointer(
        &mut self,
        ty: &Type,
        class: TypeId,
        target: TypeId,
        part: Part,
    ) -> fmt::Result {
        let Some(size) = ty.byte_size.map(|bytes| bytes.saturating_mul(8)) else {
            return self.out.put(INCOMPLETE);
        };
        if let Some(lost) = self.bits.state(part.bit_offset, size).text() {
            return self.out.put(lost);
        }
        if let TypeKind::Function { .. } = shape::resolve(self.table, target).ty.kind {
            self.function_member_pointer(part.bit_offset, size / 2)
        } else {
            self.data_member_pointer(class, part.bit_offset, size)
        }
    }

    /// Prints the distance of a member from the start of its class, in bytes; -1 is the null pointer.
    fn data_member_pointer(&mut self, class: TypeId, offset: u64, size: u64) -> fmt::Result {
        let distance = self.bits.signed(offset, size);
        if distance == -1 {
            return self.out.put("NULL");
        }
        let class = shape::resolve(self.table, class).ty;
        let members = if let TypeKind::Record { members, .. } = &class.kind {
            members.as_slice()
        } else {
            &[]
        };
        let member = members
            .iter()
            .filter(|m| !m.is_base && m.bit_size.is_none())
            .find(|m| {
                m.bit_offset
                    .is_some_and(|bits| i128::from(bits) == distance.saturating_mul(8))
            });
        match (&class.name, member.and_then(|m| m.name.as_ref())) {
            (Some(class), Some(member)) => write!(self.out, "&{class}::{member}"),
            _ => write!(self.out, "{distance}"),
        }
    }

    /// Prints two words: the address of the function, or one more than its offset in the virtual table, and the adjustment of `this`.
    fn function_member_pointer(&mut self, offset: u64, word: u64) -> fmt::Result {
        let target = self.bits.unsigned(offset, word);
        let adjustment = self.bits.signed(offset.saturating_add(word), word);
        match target {
            0 => return self.out.put("NULL"),
            _ if target & 1 == 1 => write!(self.out, "&virtual table offset {}", target - 1)?,
            _ => write!(self.out, "{target:#x}")?,
        }
        if adjustment == 0 {
            Ok(())
        } else {
            write!(self.out, ", this adjustment {adjustment}")
        }
    }
}
