//! Adds lane program locations to a `gimli::write::Unit`.
//!
//! gimli cannot write `.debug_addr`, so addresses are `DW_OP_addr` where USAGE's example has `DW_OP_addrx`; calls are `DW_OP_call4`, which
//! needs no relocation.

use core::ops::Range;
use std::collections::HashMap;

use gimli::constants::{
    DW_AT_artificial, DW_AT_byte_size, DW_AT_encoding, DW_AT_location, DW_AT_name, DW_AT_type,
    DW_ATE_unsigned, DW_TAG_base_type, DW_TAG_dwarf_procedure, DW_TAG_variable, DwAt, DwOp,
};
use gimli::write::{
    Address, AttributeValue, Expression, Location, LocationList, Unit, UnitEntryId,
};

use super::program::{Operand, Program};
use super::region::Label;
use crate::arch::{Register, WaveSize};
use crate::debug_info::attribute::{EXTENSIONS, Extension};

/// The additions to a unit for one function.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The procedures, in the order of [`Program::procedures`].
    pub procedures: Vec<UnitEntryId>,
    /// The artificial variables, in the order of [`Program::variables`].
    pub variables: Vec<UnitEntryId>,
}

/// The parts that functions of a unit share: the integer type of masks, and equal procedures.
#[derive(Debug, Default)]
pub struct UnitWriter {
    types: HashMap<u32, UnitEntryId>,
    /// The procedures without addresses or variables, by name and expression.
    shared: HashMap<String, UnitEntryId>,
}

impl UnitWriter {
    /// Creates a writer that shares nothing yet.
    #[must_use]
    pub fn new() -> UnitWriter {
        UnitWriter::default()
    }

    /// Adds the contents of `program` to `unit`: the attributes of the subprogram at `subprogram`, its artificial variables, and procedures
    /// and a base type in the unit.
    ///
    /// * `address`: returns the address of a label, as a symbol or a constant.
    pub fn write(
        &mut self,
        program: &Program,
        unit: &mut Unit,
        subprogram: UnitEntryId,
        address: &dyn Fn(&Label) -> Address,
    ) -> Written {
        let mask_type = self.mask_type(unit, program.wave_size);
        let mut written = Written::default();
        // Variables come first, so that procedures can refer to them.
        for variable in &program.variables {
            let entry = unit.add(subprogram, DW_TAG_variable);
            let die = unit.get_mut(entry);
            die.set(
                DW_AT_name,
                AttributeValue::String(variable.name.clone().into_bytes()),
            );
            die.set(DW_AT_type, AttributeValue::UnitRef(mask_type));
            die.set(DW_AT_artificial, AttributeValue::Flag(true));
            written.variables.push(entry);
        }
        for (variable, entry) in program.variables.iter().zip(&written.variables) {
            let locations = variable
                .locations
                .iter()
                .map(|(range, bytes)| (range, Expression::raw(bytes.clone())));
            let list = list(unit, locations, address);
            unit.get_mut(*entry).set(DW_AT_location, list);
        }
        for procedure in &program.procedures {
            let entry = self.procedure(procedure, program, unit, mask_type, &written, address);
            written.procedures.push(entry);
        }
        let byte_size = mask_bytes(program.wave_size);
        let make =
            |operands: &[Operand]| expression(operands, &written, mask_type, byte_size, address);
        let value = match program.lane_pc.as_slice() {
            [(_, only)] => AttributeValue::Exprloc(make(only)),
            ranges => list(
                unit,
                ranges
                    .iter()
                    .map(|(range, operands)| (range, make(operands))),
                address,
            ),
        };
        let active = program.active_lane.as_ref().map(|ranges| {
            let ranges = ranges
                .iter()
                .map(|(range, bytes)| (range, Expression::raw(bytes.clone())));
            list(unit, ranges, address)
        });
        let die = unit.get_mut(subprogram);
        let lanes = u64::from(program.wave_size.lanes());
        die.set(code(Extension::Lanes), AttributeValue::Udata(lanes));
        die.set(code(Extension::LanePc), value);
        if let Some(active) = active {
            die.set(code(Extension::ActiveLane), active);
        }
        written
    }

    fn mask_type(&mut self, unit: &mut Unit, wave_size: WaveSize) -> UnitEntryId {
        let root = unit.root();
        *self.types.entry(wave_size.lanes()).or_insert_with(|| {
            let entry = unit.add(root, DW_TAG_base_type);
            let die = unit.get_mut(entry);
            let name = format!("__uint{}", wave_size.lanes());
            die.set(DW_AT_name, AttributeValue::String(name.into_bytes()));
            die.set(
                DW_AT_byte_size,
                AttributeValue::Data1(mask_bytes(wave_size)),
            );
            die.set(DW_AT_encoding, AttributeValue::Encoding(DW_ATE_unsigned));
            entry
        })
    }

    fn procedure(
        &mut self,
        procedure: &super::program::Procedure,
        program: &Program,
        unit: &mut Unit,
        mask_type: UnitEntryId,
        written: &Written,
        address: &dyn Fn(&Label) -> Address,
    ) -> UnitEntryId {
        // A procedure that does not depend on the function can be shared within the unit.
        let shareable = procedure.expression.iter().all(|operand| {
            matches!(
                operand,
                Operand::Bytes(_) | Operand::RegisterMask(_) | Operand::ReadMask
            )
        });
        let key = format!("{} {:?}", procedure.name, procedure.expression);
        if shareable && let Some(known) = self.shared.get(&key) {
            return *known;
        }
        let root = unit.root();
        let entry = unit.add(root, DW_TAG_dwarf_procedure);
        let byte_size = mask_bytes(program.wave_size);
        let location = expression(
            &procedure.expression,
            written,
            mask_type,
            byte_size,
            address,
        );
        let die = unit.get_mut(entry);
        die.set(
            DW_AT_name,
            AttributeValue::String(procedure.name.clone().into_bytes()),
        );
        die.set(DW_AT_location, AttributeValue::Exprloc(location));
        if shareable {
            self.shared.insert(key, entry);
        }
        entry
    }
}

/// Returns the code with which an attribute is written: LLVM's, or HET's where LLVM has none.
pub(crate) fn code(extension: Extension) -> DwAt {
    let row = EXTENSIONS.iter().find(|row| row.extension == extension);
    row.and_then(|row| row.llvm.or(row.het)).unwrap_or(DwAt(0))
}

pub(super) fn mask_bytes(wave_size: WaveSize) -> u8 {
    match wave_size {
        WaveSize::Wave32 => 4,
        WaveSize::Wave64 => 8,
    }
}

fn expression(
    operands: &[Operand],
    written: &Written,
    mask_type: UnitEntryId,
    byte_size: u8,
    address: &dyn Fn(&Label) -> Address,
) -> Expression {
    let mut expression = Expression::new();
    for operand in operands {
        match operand {
            // gimli has no vendor operations, but writes any code.
            Operand::Bytes(bytes) => bytes.iter().for_each(|byte| expression.op(DwOp(*byte))),
            Operand::Call(number) => {
                if let Some(entry) = written.procedures.get(*number) {
                    expression.op_call(*entry);
                }
            }
            Operand::Mask(number) => {
                if let Some(entry) = written.variables.get(*number) {
                    expression.op_call(*entry);
                }
            }
            Operand::Address(label) => expression.op_addr(address(label)),
            Operand::RegisterMask(register) => {
                expression.op_regval_type(gimli_register(*register), mask_type)
            }
            Operand::ReadMask => {
                expression.op_deref_size(byte_size);
                expression.op_convert(Some(mask_type));
            }
        }
    }
    expression
}

fn gimli_register(register: Register) -> gimli::Register {
    gimli::Register(register.number())
}

/// Returns a location list as the value of an attribute.
fn list<'l>(
    unit: &mut Unit,
    ranges: impl Iterator<Item = (&'l Range<Label>, Expression)>,
    address: &dyn Fn(&Label) -> Address,
) -> AttributeValue {
    let entries = ranges
        .map(|(range, data)| Location::StartEnd {
            begin: address(&range.start),
            end: address(&range.end),
            data,
        })
        .collect();
    AttributeValue::LocationListRef(unit.locations.add(LocationList(entries)))
}
