//! Answers the queries of expressions to the debugging information.
//!
//! Sources: HET A.2.5.4.2 (calls), A.2.5.4.3 (base types, `DW_OP_addrx`, `DW_OP_constx`), A.2.5.5
//! (location lists).

use fallible_iterator::FallibleIterator;
use gimli::SectionId;
use gimli::constants::{DW_AT_const_value, DW_AT_location, DW_AT_name, DW_TAG_base_type};

use super::DebugInfo;
use super::id::{DieId, UnitId};
use crate::arch::Register;
use crate::error::{Error, ErrorKind, Origin, Result, SpecRule};
use crate::eval::{
    BaseType, BaseTypeEncoding, CallPlace, CallSite, DieReference, IntegerType, LocationEntry,
    Matching, Procedure, Resolver, Unit,
};
use crate::meter::Meter;

impl DebugInfo<'_> {
    /// Returns the target of a reference from an expression of `unit`.
    ///
    /// # Errors
    /// [`SpecRule::WrongReference`] if it leads out of the unit or section.
    pub fn resolve(&self, unit: Unit, reference: DieReference) -> Result<DieId> {
        let entry = self.entry(UnitId(unit.id))?;
        let (section, offset, inside) = match reference {
            DieReference::InUnit(offset) => {
                let start = entry.offset() as u64;
                let offset = start.checked_add(offset);
                (entry.header.section(), offset, Some(UnitId(unit.id)))
            }
            DieReference::InSection(offset) => (SectionId::DebugInfo, Some(offset), None),
        };
        offset
            .and_then(|offset| usize::try_from(offset).ok())
            .and_then(|offset| self.find_die(entry.file, section, offset))
            .filter(|id| inside.is_none_or(|unit| unit == id.unit))
            .ok_or_else(|| {
                let section = self.section_of(UnitId(unit.id)).unwrap_or(".debug_info");
                Error::from(SpecRule::WrongReference).within(section, offset.unwrap_or(u64::MAX))
            })
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns the entries of a location list that hold at `pc`.
    ///
    /// # Errors
    /// If the list is malformed.
    pub(crate) fn matching_at(
        &self,
        unit: Unit,
        offset: u64,
        pc: u64,
        meter: &Meter,
    ) -> Result<Matching<'a>> {
        let mut matching = Matching::at(pc);
        let mut entries = self.location_list(UnitId(unit.id), offset, meter)?;
        while let Some(entry) = entries.next()? {
            matching.add(entry)?;
        }
        Ok(matching)
    }
}

impl DebugInfo<'_> {
    /// Returns the integer type at `offset`, in bytes from the start of a unit's header. LLVM's meaning is used: `DW_ATE_unsigned_1` has one bit,
    /// though its byte size is 1. Returns `None` for other kinds of types, and above 64 bits.
    #[must_use]
    pub(crate) fn integer_type(&self, unit: Unit, offset: u64) -> Option<IntegerType> {
        let id = self.resolve(unit, DieReference::InUnit(offset)).ok()?;
        let die = self.die(id).ok()?;
        let base_type = self.base_type_of(&die).ok()?;
        let signed = match base_type.encoding {
            BaseTypeEncoding::Signed | BaseTypeEncoding::SignedChar => true,
            BaseTypeEncoding::Unsigned
            | BaseTypeEncoding::UnsignedChar
            | BaseTypeEncoding::Boolean => false,
            BaseTypeEncoding::Generic
            | BaseTypeEncoding::Address
            | BaseTypeEncoding::Float
            | BaseTypeEncoding::Utf
            | BaseTypeEncoding::Other(_) => return None,
        };
        let name = die.attribute(DW_AT_name);
        let name = name.and_then(|name| self.string_of(&die, name));
        let bits = name.as_deref().and_then(|name| {
            let (_, bits) = name.strip_prefix("DW_ATE_")?.rsplit_once('_')?;
            bits.parse::<u32>().ok()
        });
        let bits = bits.filter(|bits| *bits <= base_type.bit_size);
        let bits = u8::try_from(bits.unwrap_or(base_type.bit_size)).ok()?;
        (1..=64)
            .contains(&bits)
            .then_some(IntegerType { bits, signed })
    }
}

/// Implemented for a reference, because a constant written as a number has no bytes in the file. The `DebugInfo` creates and keeps these bytes, so
/// they live as long as it does. Pass `&info` where a resolver is owned and `&&info` where one is borrowed.
impl<'d> Resolver<'d> for &'d DebugInfo<'_> {
    fn procedure(&self, unit: Unit, die: DieReference) -> Result<Procedure<'d>> {
        let info: &'d DebugInfo<'_> = self;
        let id = info.resolve(unit, die)?;
        let place = |_| {
            let section = info.section_of(id.unit).unwrap_or(".debug_info");
            Error::from(SpecRule::WrongReference).within(section, id.offset)
        };
        let chain = info.chain(info.die(id).map_err(place)?);
        if let Some((die, attribute)) = chain.find(DW_AT_location)
            && let Some(location) = info.location(die, attribute)?
        {
            return Ok(Procedure::Location(location));
        }
        if chain.find(DW_AT_const_value).is_some()
            && let Some(bytes) = info.constant_at(id)?
        {
            return Ok(Procedure::Constant(bytes));
        }
        Ok(Procedure::Nothing)
    }

    fn base_type(&self, unit: Unit, offset: u64) -> Result<BaseType> {
        let place = || {
            let section = self.section_of(UnitId(unit.id)).unwrap_or(".debug_info");
            let start = self
                .entry(UnitId(unit.id))
                .map_or(0, |entry| entry.offset());
            let offset = offset.saturating_add(start as u64);
            Error::from(SpecRule::NotABaseType).within(section, offset)
        };
        let die = self
            .resolve(unit, DieReference::InUnit(offset))
            .and_then(|id| self.die(id))
            .map_err(|_| place())?;
        if die.tag() != DW_TAG_base_type {
            return Err(place());
        }
        if let Some(name) = self.not_understood(&die) {
            return Err(ErrorKind::Unsupported(name).into());
        }
        // Values on the stack are numbers. An operation that reads a value from memory gets its bytes in order.
        let by = self.representation(&die)?;
        if by.big_endian {
            return Err(ErrorKind::Unsupported("DW_AT_endianity").into());
        }
        if by.bit_offset != 0 {
            return Err(ErrorKind::Unsupported("DW_AT_data_bit_offset").into());
        }
        self.base_type_of(&die)
    }

    fn address(&self, unit: Unit, index: u64) -> Result<u64> {
        let id = UnitId(unit.id);
        let place = Origin {
            section: ".debug_addr",
            offset: self.contents(id)?.gimli.addr_base.0 as u64,
        };
        self.indexed_address(id, index, &place)
    }

    fn location_list(
        &self,
        unit: Unit,
        offset: u64,
        _pc: u64,
        visit: &mut dyn FnMut(Option<LocationEntry<'d>>) -> Result<()>,
    ) -> Result<()> {
        let info: &'d DebugInfo<'_> = self;
        let mut entries = info.encoded_locations(UnitId(unit.id), offset)?;
        while let Some(entry) = entries.next()? {
            visit(entries.resolve(&entry)?)?;
        }
        Ok(())
    }

    fn call_site(&self, register: Register, call: CallPlace) -> Result<CallSite<'d>> {
        self.call_site_value(register, call)
    }
}
