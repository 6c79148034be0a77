//! Determines how a unit's producer writes the locations of variables and numbers address spaces.
//!
//! Most AMDGPU units are not written with the heterogeneous extensions: a vector register in a location denotes one lane's dword of it. One rule
//! about the unit decides how to read its locations. Another decides which of clang's two numberings of address spaces it uses.
//! `spec-notes/legacy-llvm.md` has both rules and the evidence for them. Interpreting a location is left to
//! [`eval::rewrite_legacy`](crate::eval::rewrite_legacy).

use fallible_iterator::FallibleIterator;
use gimli::constants::*;
use gimli::{DwAt, DwTag};

use super::DebugInfo;
use super::attribute::{EXTENSIONS, Extension, ExtensionRow};
use super::die::Die;
use super::id::{DieId, UnitId};
use crate::arch::AddressSpace;
use crate::error::Result;
use crate::eval::{ExpressionBytes, LocationAttribute};
use crate::expr::{Operation, Since, operations};
use crate::meter::Meter;

/// The conventions of a unit's producer where the standard and the extensions leave room.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitConvention {
    /// The convention for the locations of its variables.
    pub locations: LocationConvention,
    /// The numbering of its address spaces.
    pub address_spaces: AddressSpaceNumbering,
}

/// The convention for the locations of a unit's variables, and its evidence.
///
/// Call frame information and attributes about lanes are no evidence. LLVM 24 writes extensions in call frame information, but not in the locations
/// of variables. Tools can add such attributes to any object.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationConvention {
    /// Strictly: the unit has `DW_AT_LLVM_augmentation`.
    Augmented,
    /// Strictly: the location of a variable, or a frame base, has an operation of the extensions.
    Extended {
        /// The first entry with such an operation.
        die: DieId,
    },
    /// Strictly, where a vector register denotes lane 0: GNU compilers keep values there that are uniform across lanes.
    Gnu,
    /// A vector register stands for the lane's dword of it, and `DW_OP_fbreg` for private memory of the lane.
    LaneDword,
}

impl LocationConvention {
    /// Returns true if locations are read strictly.
    #[must_use]
    pub fn is_by_the_letter(self) -> bool {
        self != LocationConvention::LaneDword
    }
}

/// The numbering of address spaces in `DW_OP_xderef` expressions and `DW_AT_address_class`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressSpaceNumbering {
    /// USAGE "Address Space Identifier": generic 1, region 2, local 3, private 5.
    Usage,
    /// The numbering of clang up to 20: private 1, local 2.
    UpTo20,
    /// Undecided: 1 can be generic or private, 2 local or region.
    Undecided,
}

/// The last version of clang known to use the old numbering, and the first known not to.
const LAST_WITH_OLD_NUMBERS: u32 = 20;
const FIRST_WITH_USAGE_NUMBERS: u32 = 22;

impl AddressSpaceNumbering {
    /// Returns the address space that a number stands for, or `None` if the number is reserved or ambiguous.
    #[must_use]
    pub fn space(self, number: u64) -> Option<AddressSpace> {
        match (self, number) {
            (AddressSpaceNumbering::UpTo20, 1) => Some(AddressSpace::PrivateLane),
            (AddressSpaceNumbering::UpTo20, 2) => Some(AddressSpace::Local),
            (AddressSpaceNumbering::Undecided, 1 | 2) => None,
            (_, number) => AddressSpace::from_number(number),
        }
    }

    /// Returns the numbering used by the version of clang in a producer string, if it names a known version.
    fn of_producer(producer: &str) -> Option<AddressSpaceNumbering> {
        let (_, version) = producer.split_once("clang version ")?;
        let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
        match digits.parse::<u32>().ok()? {
            ..=LAST_WITH_OLD_NUMBERS => Some(AddressSpaceNumbering::UpTo20),
            FIRST_WITH_USAGE_NUMBERS.. => Some(AddressSpaceNumbering::Usage),
            _ => None,
        }
    }

    /// Determines the numbering from the numbers that a unit uses. Only USAGE has 3, 5 and 6, and `DW_AT_LLVM_address_space` always holds numbers
    /// from USAGE. Without these, 2 is taken as local memory in the old numbering. The only other reading is region memory, which no compiler has
    /// used for years.
    fn of_numbers(scan: &Scan) -> AddressSpaceNumbering {
        let has = |number: u32| scan.spaces & 1 << number != 0;
        if scan.has_address_space || has(3) || has(5) || has(6) {
            AddressSpaceNumbering::Usage
        } else if has(2) {
            AddressSpaceNumbering::UpTo20
        } else {
            AddressSpaceNumbering::Undecided
        }
    }
}

impl<'a> DebugInfo<'a> {
    /// Returns the conventions of a unit's producer. They are determined on first use from the unit's first entry and, if that does not decide, from
    /// all of its entries.
    ///
    /// # Errors
    /// If there is no such unit, or it is malformed; [`Limit::Work`](crate::error::Limit::Work) if it has more
    /// entries than one query may look at.
    pub fn convention(&self, unit: UnitId) -> Result<UnitConvention> {
        self.cache(unit)?
            .convention
            .get_or_init(|| self.find_convention(unit))
            .clone()
    }

    fn find_convention(&self, unit: UnitId) -> Result<UnitConvention> {
        let by_the_letter = |locations| UnitConvention {
            locations,
            address_spaces: AddressSpaceNumbering::Usage,
        };
        let partner = self.entry(unit)?.partner;
        let mut producer = None;
        for unit in core::iter::once(unit).chain(partner) {
            let root = &self.contents(unit)?.root;
            if root.extension(Extension::Augmentation).is_some() {
                return Ok(by_the_letter(LocationConvention::Augmented));
            }
            let name = root.attribute(DW_AT_producer);
            producer = producer.or_else(|| self.string_of(root, name?));
        }
        let producer = producer.unwrap_or_default();
        if producer.contains("GNU") {
            return Ok(by_the_letter(LocationConvention::Gnu));
        }
        let scan = self.scan(unit)?;
        if let Some(die) = scan.extended {
            return Ok(by_the_letter(LocationConvention::Extended { die }));
        }
        Ok(UnitConvention {
            locations: LocationConvention::LaneDword,
            address_spaces: AddressSpaceNumbering::of_producer(&producer)
                .unwrap_or_else(|| AddressSpaceNumbering::of_numbers(&scan)),
        })
    }

    /// Looks for operations of the extensions and for numbers of address spaces in a whole unit.
    fn scan(&self, unit: UnitId) -> Result<Scan> {
        let meter = self.meter();
        let mut scan = Scan::default();
        let mut walk = self.walk(self.contents(unit)?.root.id())?;
        while let Some(entry) = walk.next_entry_with(|abbreviation| {
            attribute_of(abbreviation.tag()).is_some_and(|name| {
                let mut specified = abbreviation.attributes().iter();
                specified.any(|attribute| is_telling(name, attribute.name()))
            })
        })? {
            let name = attribute_of(entry.tag());
            let mut attributes = entry.attrs().iter();
            if name.is_some_and(|name| attributes.any(|one| is_telling(name, one.name()))) {
                self.scan_entry(&walk.die(), &mut scan, meter)?;
            }
            walk.pay(meter)?;
            if scan.extended.is_some() {
                break;
            }
        }
        Ok(scan)
    }

    fn scan_entry(&self, die: &Die<'a>, scan: &mut Scan, meter: &Meter) -> Result<()> {
        scan.has_address_space |= die.extension(Extension::AddressSpace).is_some();
        let Some(attribute) = attribute_of(die.tag()).and_then(|name| die.attribute(name)) else {
            return Ok(());
        };
        if attribute.name() == DW_AT_address_class {
            scan.space(attribute.udata_value().unwrap_or(0));
            return Ok(());
        }
        // An unreadable location is no evidence. The error is reported to the callers that read the location.
        let Ok(Some(location)) = self.location(die, attribute) else {
            return Ok(());
        };
        match location {
            LocationAttribute::Expression(expression) => {
                scan.expression(die.id(), &expression, meter)
            }
            LocationAttribute::List { offset, .. } => {
                let Ok(mut entries) = self.location_list(die.id().unit, offset, meter) else {
                    return Ok(());
                };
                loop {
                    match entries.next() {
                        Ok(Some(entry)) => {
                            scan.expression(die.id(), &entry.expression, meter)?;
                        }
                        Err(error) if error.is_limit() => return Err(error),
                        Ok(None) | Err(_) => return Ok(()),
                    }
                }
            }
        }
    }
}

/// The attributes that reveal the producer's convention, by the tag of their entries.
const TELLING: [(DwTag, DwAt); 9] = [
    (DW_TAG_variable, DW_AT_location),
    (DW_TAG_formal_parameter, DW_AT_location),
    (DW_TAG_constant, DW_AT_location),
    (DW_TAG_subprogram, DW_AT_frame_base),
    (DW_TAG_inlined_subroutine, DW_AT_frame_base),
    (DW_TAG_entry_point, DW_AT_frame_base),
    (DW_TAG_pointer_type, DW_AT_address_class),
    (DW_TAG_reference_type, DW_AT_address_class),
    (DW_TAG_rvalue_reference_type, DW_AT_address_class),
];

/// Returns true if an attribute reveals the convention. `name` is the attribute that [`TELLING`] has for the entry's tag.
fn is_telling(name: DwAt, attribute: DwAt) -> bool {
    // LLVM 24 puts the second in place of the first.
    let is_space = |row: &ExtensionRow| row.extension == Extension::AddressSpace;
    attribute == name
        || name == DW_AT_address_class
            && (EXTENSIONS.iter()).any(|row| is_space(row) && row.llvm == Some(attribute))
}

fn attribute_of(tag: DwTag) -> Option<DwAt> {
    let row = TELLING.iter().find(|(of, _)| *of == tag);
    row.map(|(_, attribute)| *attribute)
}

/// The evidence found in the entries of a unit.
#[derive(Default)]
struct Scan {
    /// The first entry whose location has an operation of the extensions.
    extended: Option<DieId>,
    /// The numbers of address spaces below 64 that occur, as a mask.
    spaces: u64,
    /// True if a pointer has `DW_AT_LLVM_address_space`.
    has_address_space: bool,
}

impl Scan {
    fn space(&mut self, number: u64) {
        if let Some(bit) = u32::try_from(number).ok().and_then(|n| 1u64.checked_shl(n)) {
            self.spaces |= bit;
        }
    }

    fn expression(
        &mut self,
        die: DieId,
        expression: &ExpressionBytes<'_>,
        meter: &Meter,
    ) -> Result<()> {
        let mut items = operations(expression.bytes, expression.unit.encoding);
        // The last operations: a number, `swap`.
        let mut before = [None, None];
        while let Ok(Some(item)) = items.next() {
            meter.work(1)?;
            if item.operation.opcode().row().since == Since::Het {
                self.extended.get_or_insert(die);
                return Ok(());
            }
            if item.operation == Operation::Xderef
                && let [Some(number), Some(Operation::Swap)] = before
                && let Some(number) = number.constant()
            {
                self.space(number);
            }
            before = [before[1], Some(item.operation)];
        }
        Ok(())
    }
}
