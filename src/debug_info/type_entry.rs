//! Reads single entries of types: sizes and address spaces.
//!
//! Putting types together is left to `read_type`, the dimensions of arrays to `array_shape`.
//! Sources: DWARF 5 §2.21, §5.1 to §5.5; HET A.5.1, A.5.3; facts of clang for `DW_AT_address_class`.

use gimli::constants::*;

use super::DebugInfo;
use super::alias::{HOPS, is_alias};
use super::array_shape::ArrayShape;
use super::attribute::Extension;
use super::die::Die;
use super::id::DieId;
use super::types::{NULL_POINTER_TYPES, Representation};
use crate::arch::{AddressSpace, MemorySpace};
use crate::error::{ErrorKind, Result};
use crate::meter::Meter;

/// The known size of a type.
enum KnownSize {
    /// In bytes.
    Size(u64),
    /// The number of aliases reached the maximum. This is the entry after them.
    TooFar(DieId),
}

/// A chain of aliases that exceeds the maximum length.
#[derive(Debug)]
pub(super) struct Chain {
    /// The next type, if it belongs to the chain.
    next: DieId,
    /// The entry at the maximum distance from the previous type.
    end: DieId,
}

impl<'a> DebugInfo<'a> {
    /// Returns the size of the type at `ty` in bytes, if it is known without evaluation.
    #[must_use]
    pub fn byte_size(&self, ty: DieId) -> Option<u64> {
        self.size(ty, &self.for_query())
    }

    /// Returns the size of a type in bytes, if known without evaluation, and charges `meter` for the entries read.
    pub(crate) fn size(&self, ty: DieId, meter: &Meter) -> Option<u64> {
        match self.size_within(ty, meter)? {
            KnownSize::Size(size) => Some(size),
            KnownSize::TooFar(_) => None,
        }
    }

    /// Returns the size of a type that is the `target` of the previous type. `chain` may show that the size is too far away. This way, a long chain
    /// of typedefs is read once, and not for each typedef.
    pub(super) fn size_in_chain(
        &self,
        die: &Die<'a>,
        chain: &mut Option<Chain>,
        meter: &Meter,
    ) -> Option<u64> {
        let known = chain.take().filter(|chain| chain.next == die.id());
        let end = match known {
            // One entry further than for the previous type.
            Some(known) => self.alias_target(known.end, meter),
            None => match self.size_within(die.id(), meter)? {
                KnownSize::Size(size) => return Some(size),
                KnownSize::TooFar(end) => Some(end),
            },
        };
        if let (Some(end), Some(next)) = (end, self.direct_type(die)) {
            *chain = Some(Chain { next, end });
            return None;
        }
        self.size(die.id(), meter)
    }

    /// Returns the target of an alias without its own size.
    fn alias_target(&self, ty: DieId, meter: &Meter) -> Option<DieId> {
        meter.work(1).ok()?;
        let die = self.die(ty).ok()?;
        let is_plain = is_alias(die.tag()) && self.definition(&die).is_none();
        let target = || self.direct_type(&die);
        (is_plain && self.own_size(&die).is_none())
            .then(target)
            .flatten()
    }

    fn size_within(&self, ty: DieId, meter: &Meter) -> Option<KnownSize> {
        let mut outer = Vec::new();
        let mut next = ty;
        let mut are_aliases = true;
        for _ in 0..HOPS {
            meter.work(1).ok()?;
            let die = self.die(next).ok()?;
            if let Some(definition) = self.definition(&die) {
                next = definition;
                are_aliases = false;
                continue;
            }
            if let Some(size) = self.own_size(&die) {
                let mut bits = size.checked_mul(8)?;
                for shape in outer.iter().rev() {
                    bits = ArrayShape::size_in_bits(shape, bits)?;
                }
                return Some(KnownSize::Size(bits.div_ceil(8)));
            }
            are_aliases &= is_alias(die.tag());
            if die.tag() == DW_TAG_array_type {
                let shape = self.array_shape(&die, meter).ok()?;
                if shape.extents.is_empty() {
                    return None;
                }
                outer.push(shape);
            } else if !is_alias(die.tag())
                && ![DW_TAG_enumeration_type, DW_TAG_subrange_type].contains(&die.tag())
            {
                return None;
            }
            next = self.direct_type(&die)?;
        }
        are_aliases.then_some(KnownSize::TooFar(next))
    }

    /// Returns the integer type underlying typedefs, qualifiers and enumerations: its size in bytes and true if it is signed.
    pub(super) fn integer(&self, ty: DieId) -> Option<(u64, bool)> {
        let mut next = ty;
        for _ in 0..HOPS {
            let die = self.die(next).ok()?;
            if die.tag() == DW_TAG_base_type {
                let encoding = die.unsigned(DW_AT_encoding)?;
                if self.representation(&die).ok()? != Representation::PLAIN {
                    return None;
                }
                let signed = [DW_ATE_signed, DW_ATE_signed_char]
                    .iter()
                    .any(|code| u64::from(code.0) == encoding);
                return Some((self.own_size(&die)?, signed));
            }
            next = match self.definition(&die) {
                Some(definition) => definition,
                None => self.direct_type(&die)?,
            };
        }
        None
    }

    /// Returns the type in a type unit that an entry stands for (`DW_AT_signature`).
    pub(crate) fn definition(&self, die: &Die<'a>) -> Option<DieId> {
        self.target(die, die.attribute(DW_AT_signature)?).ok()?
    }

    /// Returns the entry in `DW_AT_type` of this entry itself.
    pub(crate) fn direct_type(&self, die: &Die<'a>) -> Option<DieId> {
        self.target(die, die.attribute(DW_AT_type)?).ok()?
    }

    /// Returns the entry in `DW_AT_import` of this entry itself.
    pub(crate) fn imported(&self, die: &Die<'a>) -> Option<DieId> {
        self.target(die, die.attribute(DW_AT_import)?).ok()?
    }

    /// Returns the size of a type in bytes according to its own entry.
    pub(super) fn own_size(&self, die: &Die<'a>) -> Option<u64> {
        if die.tag() == DW_TAG_string_type {
            return self.constant_string_size(die);
        }
        let is_number = die.tag() == DW_TAG_subrange_type && die.attribute(DW_AT_type).is_none();
        let is_address = is_number || self.is_null_pointer_type(die);
        let bits = || Some(die.unsigned(DW_AT_bit_size)?.div_ceil(8));
        let said = die.unsigned(DW_AT_byte_size).or_else(bits);
        if is_pointer(die.tag()) {
            return said.or_else(|| self.pointer_size(die));
        }
        if die.tag() == DW_TAG_ptr_to_member_type {
            return said.or_else(|| self.member_pointer_size(die));
        }
        if is_address {
            return said.or_else(|| self.process_address_size(die));
        }
        // HET A.5.1: a vector has this many elements of the type without the attribute.
        match die.extension(Extension::VectorSize) {
            Some(elements) => said?.checked_mul(elements.udata_value()?),
            None => said,
        }
    }

    /// Returns the size of a pointer to a member, for which gcc writes no size. By the Itanium C++ ABI §2.3, data pointers have one word and function
    /// pointers two.
    fn member_pointer_size(&self, die: &Die<'a>) -> Option<u64> {
        let target = self.die(self.direct_type(die)?).ok()?;
        let is_function = target.tag() == DW_TAG_subroutine_type;
        let words = if is_function { 2 } else { 1 };
        self.process_address_size(die)?.checked_mul(words)
    }

    /// Returns true for the type of `nullptr`. C++ makes it as large as a pointer, and compilers write no size.
    pub(super) fn is_null_pointer_type(&self, die: &Die<'a>) -> bool {
        die.tag() == DW_TAG_unspecified_type
            && die
                .attribute(DW_AT_name)
                .and_then(|name| self.string_of(die, name))
                .is_some_and(|name| NULL_POINTER_TYPES.contains(&&*name))
    }

    /// Returns the size of an address of the default address space, in bytes.
    pub(super) fn process_address_size(&self, die: &Die<'a>) -> Option<u64> {
        let header = &self.entry(die.id().unit).ok()?.header;
        Some(header.address_size().into())
    }

    fn pointer_size(&self, die: &Die<'a>) -> Option<u64> {
        let process = self.entry(die.id().unit).ok()?.header.address_size();
        let bits = self.address_space(die).address_size_in_bits(process);
        Some(u64::from(bits.div_ceil(8)))
    }

    /// Returns the address space of a pointer. `DW_AT_LLVM_address_space` takes precedence over `DW_AT_address_class`, which has a number in the
    /// unit's [numbering](super::AddressSpaceNumbering), or in USAGE's if that is undecided. Without an attribute, or for a reserved number, it is
    /// the default space.
    pub(super) fn address_space(&self, die: &Die<'a>) -> AddressSpace {
        let number = |attribute: &gimli::Attribute<_>| attribute.udata_value();
        if let Some(space) = die.extension(Extension::AddressSpace) {
            return number(space)
                .and_then(AddressSpace::from_number)
                .unwrap_or(AddressSpace::None);
        }
        let Some(class) = die.attribute(DW_AT_address_class).and_then(number) else {
            return AddressSpace::None;
        };
        // Only these two numbers are ambiguous.
        let convention = match class {
            1 | 2 => self.convention(die.id().unit).ok(),
            _ => None,
        };
        convention
            .and_then(|convention| convention.address_spaces.space(class))
            .or_else(|| AddressSpace::from_number(class))
            .unwrap_or(AddressSpace::None)
    }

    /// Returns `DW_AT_LLVM_memory_space`. An unassigned number counts as none.
    pub(super) fn memory_space(&self, die: &Die<'a>) -> MemorySpace {
        die.extension(Extension::MemorySpace)
            .and_then(|attribute| attribute.udata_value())
            .and_then(MemorySpace::from_number)
            .unwrap_or(MemorySpace::None)
    }

    /// Returns the size of a string stored inline, in bytes, or `None` if it has its own length field. Before DWARF 5, the sizes in the entry of such
    /// a string described the length field.
    fn constant_string_size(&self, die: &Die<'a>) -> Option<u64> {
        if die.attribute(DW_AT_string_length).is_some() {
            return None;
        }
        let bits = || Some(die.unsigned(DW_AT_bit_size)?.div_ceil(8));
        die.unsigned(DW_AT_byte_size).or_else(bits)
    }

    /// Returns a constant of either sign, of up to 128 bits.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the attribute is present but no constant.
    pub(super) fn wide_number(&self, die: &Die<'a>, name: DwAt) -> Result<Option<i128>> {
        let Some(attribute) = die.attribute(name) else {
            return Ok(None);
        };
        match self.value(die, attribute)?.wide_number() {
            Some(number) => Ok(Some(number)),
            None => Err(ErrorKind::Unsupported(name.static_string().unwrap_or_default()).into()),
        }
    }

    /// Returns a constant of either sign.
    pub(super) fn number(&self, die: &Die<'a>, name: DwAt) -> Option<i128> {
        self.value(die, die.attribute(name)?).ok()?.number()
    }
}

/// Returns true if a type is a pointer or reference.
pub(super) fn is_pointer(tag: DwTag) -> bool {
    [
        DW_TAG_pointer_type,
        DW_TAG_reference_type,
        DW_TAG_rvalue_reference_type,
    ]
    .contains(&tag)
}
