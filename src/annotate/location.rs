//! Extends location lists of constant parameters over code in which registers provably still hold the value.
//!
//! A kept value need not be the current one, because the variable may have been assigned to. A parameter of a constant type is never assigned to
//! after the call, so that its value is the value on entry. The last location in the list is no evidence: compilers name registers that an epilogue
//! has already restored. Parameters of inlined calls are left out, because a wave can be in several activations of such a call. The exception is code
//! of a kernel, which is entered only once. Source: `spec-notes/lost-values.md`.

use core::ops::Range;

use fallible_iterator::FallibleIterator;
use gimli::constants as dw;

use super::annotated::AnnotatedVariable;
use super::lists::Entry;
use super::references::refers;
use super::unit::unit_offset;
use super::{Annotator, push};
use crate::arch::Register;
use crate::coverage::{LostVariable, Sought, lost_values};
use crate::debug_info::types::{TypeKind, TypeTable};
use crate::debug_info::{DieId, LocationRange, UnitId, VariableKind};
use crate::display::shape;
use crate::eval::{BaseTypeEncoding, LocationAttribute};
use crate::expr::{Encoding, Operation, operations, write_uleb};
use crate::isa::MachineRegister;
use crate::machine_flow::STACK_REGISTERS;

/// The other operations of expressions that name a register for each lane, including the expressions of LLVM without the extensions.
const PLAIN: [&str; 6] = [
    "DW_OP_mul",
    "DW_OP_swap",
    "DW_OP_xderef",
    "DW_OP_LLVM_push_lane",
    "DW_OP_LLVM_offset",
    "DW_OP_LLVM_piece_end",
];

/// An extended location list of a variable.
#[derive(Debug)]
pub(super) struct NewLocation {
    /// The offset of the variable's entry in its unit.
    pub(super) entry: usize,
    /// The base address of the entries.
    pub(super) base: u64,
    /// The old entries and the added ones.
    pub(super) entries: Vec<Entry>,
    pub(super) report: AnnotatedVariable,
}

impl<'a> Annotator<'_, 'a> {
    /// Finds the variables whose location lists can be extended.
    pub(super) fn find_locations(&mut self) {
        let meter = self.object.meter();
        let left = meter.steps_left().saturating_sub(self.budget.reserved);
        // The other half of the budget is left for lane program locations.
        let part = meter.part(left / 2);
        let mut lost = Vec::new();
        let found = lost_values(self.program, Sought::OnEntry, &part, &mut |one| {
            lost.push(one)
        });
        self.is_cut |= found.is_err() || meter.work(part.steps()).is_err();
        for one in lost {
            let unit = one.variable.die.unit;
            if let Some(new) = self.longer(&one) {
                self.locations.entry(unit).or_default().push(new);
            }
        }
    }

    /// Returns the extended list of a variable, if its kept values are provably the current ones.
    fn longer(&self, lost: &LostVariable<'a>) -> Option<NewLocation> {
        let variable = &*lost.variable;
        let info = self.program.info();
        let function = variable.scope.as_deref().unwrap_or_default();
        let is_asked = lost.is_of_function && (self.request.functions)(function);
        let ty = variable
            .ty
            .filter(|_| variable.kind == VariableKind::Parameter)?;
        let is_constant = info.die(ty).ok()?.tag() == dw::DW_TAG_const_type;
        if self.is_truth_value(ty) {
            return None;
        }
        let unit = variable.die.unit;
        let Some(LocationAttribute::List { offset, .. }) =
            variable.location.filter(|_| is_asked && is_constant)
        else {
            return None;
        };
        let (_, header, _) = self.header(unit).ok()??;
        let entry = unit_offset(&header, variable.die.offset)?;
        let mut entries: Vec<Entry> = Vec::new();
        let mut list = info.location_list(unit, offset, self.object.meter()).ok()?;
        while let Some(one) = list.next().ok()? {
            let LocationRange::Bounded(range) = one.range else {
                return None;
            };
            let expression = one.expression;
            // References to entries would have to be updated when the entries move.
            if refers(expression.bytes, expression.unit.encoding) {
                return None;
            }
            if !range.is_empty() {
                entries.push((range, expression.bytes.to_vec()));
            }
        }
        // The location on entry.
        let first = entries.iter().map(|(range, _)| range.start).min()?;
        let mut covering = entries.iter().filter(|(range, _)| range.contains(&first));
        let (Some((_, expression)), None) = (covering.next(), covering.next()) else {
            return None;
        };
        let expression = expression.clone();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for range in &lost.ranges {
            let registers = range.registers();
            let moved = registers.and_then(|registers| self.moved(unit, &expression, &registers));
            if let Some(moved) = moved {
                push(range.addresses.clone(), moved, &mut entries);
                ranges.push(range.addresses.clone());
            }
        }
        let base = entries.iter().map(|(range, _)| range.start).min()?;
        let name = variable.name.as_deref().map(str::to_owned);
        (!ranges.is_empty()).then(|| NewLocation {
            entry,
            base,
            entries,
            report: AnnotatedVariable {
                name,
                function: variable.scope.as_deref().map(str::to_owned),
                ranges,
            },
        })
    }

    /// Returns true for a type of truth values. A register may hold a truth value for all lanes together, depending on the preceding code. An
    /// unreadable type may be one.
    fn is_truth_value(&self, ty: DieId) -> bool {
        let mut types = TypeTable::default();
        let info = self.program.info();
        let Ok(ty) = info.read_type(&mut types, Some(ty), self.object.meter()) else {
            return true;
        };
        matches!(
            &shape::resolve(&types, ty).ty.kind,
            TypeKind::Base(base) if base.encoding == BaseTypeEncoding::Boolean
        )
    }

    /// Returns an expression with its registers replaced, by one register for each dword in the order of the dwords. Returns None for expressions of
    /// other forms.
    fn moved(&self, unit: UnitId, expression: &[u8], to: &[MachineRegister]) -> Option<Vec<u8>> {
        let unit = self.program.info().unit_info(unit).ok()?;
        let encoding = Encoding {
            address_size: unit.address_size,
            offset_size: Encoding::reference_size(unit.version, unit.address_size, 4),
            dialect: self.request.dialect,
        };
        let mut to_come = to.iter();
        let mut bytes = Vec::new();
        let mut pieces = 0_usize;
        let mut items = operations(expression, encoding);
        while let Some(item) = items.next().ok()? {
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "locations of other shapes are left alone"
            )]
            match item.operation {
                Operation::Regx { register } => {
                    bytes.push(dw::DW_OP_regx.0);
                    write_uleb(self.other_register(register, *to_come.next()?)?, &mut bytes);
                    continue;
                }
                // LLVM without the extensions writes a register as its contents plus 0, with an address space. For a stack register, this would mean
                // memory.
                Operation::Bregx {
                    register,
                    offset: 0,
                } => {
                    let other = *to_come.next()?;
                    if STACK_REGISTERS.contains(&other) {
                        return None;
                    }
                    bytes.push(dw::DW_OP_bregx.0);
                    write_uleb(self.other_register(register, other)?, &mut bytes);
                    bytes.push(0);
                    continue;
                }
                Operation::Piece { byte_size: 4 } => pieces = pieces.saturating_add(1),
                // The constants of a lane's dword, and of address spaces that LLVM writes for registers.
                Operation::Lit { value: 1 | 4 | 5 } => {}
                _ if PLAIN.contains(&item.operation.opcode().row().name) => {}
                _ => return None,
            }
            bytes.extend(expression.get(item.offset..item.end)?);
        }
        let is_whole = match to {
            [_] => pieces <= 1,
            _ => pieces == to.len(),
        };
        (is_whole && to_come.next().is_none() && !to.is_empty()).then_some(bytes)
    }

    /// Returns the DWARF number of a register, if it is of the same kind as the old register.
    fn other_register(&self, number: u64, other: MachineRegister) -> Option<u64> {
        let class = Register::from_number(number)?.class()?;
        let (register, is_upper) = other.dwarf(self.wave_size)?;
        let is_same = register.class() == Some(class) && !is_upper;
        is_same.then(|| register.number().into())
    }
}
