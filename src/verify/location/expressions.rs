//! Checks the expressions of attributes for their use, and reports faults at their position.

use fallible_iterator::FallibleIterator;
use gimli::DwTag;

use super::attribute::Use;
use super::entries::UnitEntries;
use super::reference::{By, Reference};
use super::sound::{FrameBaseNumber, KnownBase, Setting};
use super::{UnitCheck, rule};
use crate::arch::{AddressSpace, Register};
use crate::debug_info::attribute::Extension;
use crate::debug_info::{Bytes, Die, DieValue};
use crate::error::ErrorKind;
use crate::eval::{
    ExpressionBytes, IntegerType, LegacyBase, LegacyFrame, LegacyUnit, Unit, rewrite_legacy,
};
use crate::expr::{Encoding, OperandKind, Operation, operations};
use crate::verify::expression::{
    self, Entry, Env, Fault, FrameBase, Outcome, Place, Repeats, Role, as_place, excerpt, repeats,
};
use crate::verify::finding::Finding;
use crate::verify::register;

/// The bytes that are kept for a new expression: the expression, its setting, and the result.
const KEPT_OF_EXPRESSION: u64 = 400;

/// The position of an expression.
pub(super) struct Site<'s, 'a> {
    pub(super) die: &'s Die<'a>,
    pub(super) attribute: &'s gimli::Attribute<Bytes<'a>>,
    /// The first address at which the expression applies.
    pub(super) pc: Option<u64>,
}

impl<'a> UnitCheck<'_, '_, 'a> {
    /// Checks an attribute that is an expression or a location list.
    pub(super) fn location(
        &mut self,
        die: &Die<'a>,
        attribute: &gimli::Attribute<Bytes<'a>>,
        purpose: Use,
    ) {
        match self.info.value(die, attribute) {
            Ok(DieValue::Expression(expression)) => {
                let role = self.role(die, purpose);
                let pc = self.function_start();
                let site = Site { die, attribute, pc };
                let here = self.setting(expression.unit.encoding, role);
                self.expression(&site, &expression, &here);
            }
            Ok(DieValue::LocationList(offset)) => self.list(die, attribute, purpose, offset),
            Ok(_) => {}
            Err(error) => {
                let what = self.label(die, attribute);
                let text = format!("{what}: {}", error.kind());
                let finding = Finding::new(&rule::LIST, self.section, text).at(die.id().offset);
                self.findings.add(finding);
            }
        }
    }

    /// Returns the first address of the function.
    fn function_start(&self) -> Option<u64> {
        Some(self.scopes.last()?.ranges.first()?.start)
    }

    pub(super) fn role(&mut self, die: &Die<'a>, purpose: Use) -> Role {
        // HET A.3.3.5: without DW_AT_LLVM_lanes there is one lane. `check_lanes` reports this.
        let lanes = || die.extension(Extension::Lanes)?.udata_value();
        match purpose {
            Use::Object => {
                let bits = self.object_bits(die);
                if bits == Some(0) {
                    self.check_size(die);
                }
                Role::Location {
                    bits: bits.filter(|bits| *bits > 0),
                }
            }
            Use::Place => Role::Location { bits: None },
            Use::Procedure => Role::Procedure,
            Use::FrameBase => Role::FrameBase,
            Use::Member => Role::Member,
            Use::VirtualSlot => Role::VirtualSlot,
            Use::DataLocation => Role::DataLocation,
            Use::Value => Role::Value,
            Use::OfDimension => Role::OfDimension,
            Use::LanePc => Role::LanePc { lanes: lanes() },
            Use::ActiveLane => Role::ActiveLane { lanes: lanes() },
            Use::Any => Role::Any,
        }
    }

    /// Returns the setting of an expression with this encoding at the current entry.
    pub(super) fn setting(&self, encoding: Encoding, role: Role) -> Setting {
        let scope = self.scopes.last();
        let frame_base = scope.map_or(FrameBaseNumber::UNKNOWN, |scope| scope.frame_base_number);
        Setting {
            role,
            encoding,
            simt: self.is_simt,
            frame_base: Some(frame_base),
            unit: Some(self.id),
        }
    }

    /// Returns the place that the expression of a frame base computes.
    pub(super) fn frame_base(&mut self, expression: &ExpressionBytes<'a>) -> Option<Place> {
        let here = self.setting(expression.unit.encoding, Role::FrameBase);
        if let Some(known) = self.kept.sound.frame_base(expression.bytes, &here) {
            return known.place;
        }
        let (outcome, setting) = self.outcome_in(expression, &here);
        let place = outcome.result.and_then(as_place);
        if !outcome.refers {
            let known = KnownBase { setting, place };
            self.kept.sound.insert_frame_base(expression.bytes, known);
        }
        place
    }

    /// Returns the outcome of an expression in this setting, and the part of the setting on which it depends.
    fn outcome_in(
        &mut self,
        expression: &ExpressionBytes<'a>,
        here: &Setting,
    ) -> (Outcome, Setting) {
        let entries = UnitEntries::new(self.info, self.unit, self.has_no_skeleton);
        // The initial entry is the object, or the number of the dimension.
        let first = [Entry::Unknown];
        let has_first = matches!(
            here.role,
            Role::Member | Role::VirtualSlot | Role::OfDimension
        );
        let scope = self.scopes.last();
        let env = Env {
            initial: if has_first { &first } else { &[] },
            simt: here.simt,
            frame_base: scope.map_or(FrameBase::Unknown, |scope| scope.frame_base),
            entries: Some(&entries),
            machine: self.subject.machine(),
            ..Env::new(here.encoding, here.role)
        };
        let outcome = expression::check(expression.bytes, &env);
        // If the meter refuses this charge, the walk over the entries ends.
        let _ = self
            .meter
            .work(outcome.steps)
            .and(self.keep(KEPT_OF_EXPRESSION));
        let depends = Setting {
            frame_base: here.frame_base.filter(|_| outcome.asks_frame_base),
            unit: here.unit.filter(|_| entries.were_asked()),
            ..*here
        };
        if outcome.refers {
            self.refer_from(expression);
        }
        (outcome, depends)
    }

    /// Records the entries to which an expression refers. They are looked up when all entries are known.
    fn refer_from(&mut self, expression: &ExpressionBytes<'a>) {
        if self.section == ".debug_types" {
            // The calls and implicit pointers of these units refer to `.debug_info`.
            return;
        }
        let mut items = operations(expression.bytes, expression.unit.encoding);
        while let Ok(Some(item)) = items.next() {
            #[expect(
                clippy::wildcard_enum_match_arm,
                reason = "the operations that count from the start of the unit"
            )]
            let in_unit = match item.operation {
                Operation::Call2 { entry } => Some(entry.into()),
                Operation::Call4 { entry } => Some(entry.into()),
                _ => None,
            };
            let row = item.operation.opcode().row();
            let in_section = row
                .operands
                .iter()
                .zip(item.operation.operands())
                .find(|(kind, _)| **kind == OperandKind::SectionReference)
                .and_then(|(_, value)| u64::try_from(value).ok());
            let to = in_unit
                .map(|offset: u64| self.span.start.saturating_add(offset))
                .or(in_section);
            if let Some(to) = to {
                let at = expression.offset + item.offset as u64;
                self.kept.references.add(Reference {
                    from: expression.offset,
                    tag: DwTag(0),
                    by: By::Operation(row.name, expression.section, at),
                    to,
                });
            }
        }
    }

    /// Checks an expression in this setting, and reports its faults.
    pub(super) fn expression(
        &mut self,
        site: &Site<'_, 'a>,
        expression: &ExpressionBytes<'a>,
        here: &Setting,
    ) {
        if let Some(legacy) = self.kept.sound.legacy(expression.bytes, here) {
            if legacy {
                self.count_legacy(site, expression);
            }
            return;
        }
        let (mut outcome, depends) = self.outcome_in(expression, here);
        outcome
            .faults
            .extend(self.overrun_as_meant(expression, here));
        // An expression that refers to entries must be processed each time.
        let mut is_sound = outcome.faults.is_empty() && !outcome.refers;
        if outcome.legacy {
            self.count_legacy(site, expression);
        }
        for fault in &outcome.faults {
            self.report(site, expression, fault);
        }
        for (offset, number) in outcome.registers {
            if let Some((rule, message)) = register::check(&self.subject.facts(), number) {
                is_sound = false;
                let fault = Fault {
                    rule,
                    offset: Some(offset),
                    message,
                    help: None,
                };
                self.report(site, expression, &fault);
            }
        }
        if is_sound {
            let sound = &mut self.kept.sound;
            sound.insert(expression.bytes, depends, outcome.legacy);
        }
    }

    /// Reports objects that are larger than the lane's dword of the register in their location, in a unit that does not use the lane extensions.
    fn overrun_as_meant(
        &self,
        expression: &ExpressionBytes<'a>,
        here: &Setting,
    ) -> impl Iterator<Item = Fault> + use<'a> {
        let is_large = matches!(here.role, Role::Location { bits: Some(bits) } if bits > 32);
        let meant = || {
            let convention = self.info.convention(self.id).ok()?;
            if convention.locations.is_by_the_letter() {
                return None;
            }
            legacy_register(expression)
        };
        let is_amdgpu = self.subject.machine().is_amdgpu();
        let meant = if is_amdgpu && is_large && names_vector_register(expression) {
            meant()
        } else {
            None
        };
        let faults = meant.map_or_else(Vec::new, |bytes| {
            let env = Env {
                simt: here.simt,
                ..Env::new(expression.unit.encoding.in_memory(), here.role)
            };
            let outcome = expression::check(&bytes, &env);
            let _ = self.meter.work(outcome.steps);
            outcome.faults
        });
        faults.into_iter().filter(Fault::is_overrun_of_object)
    }

    fn report(&mut self, site: &Site<'_, 'a>, expression: &ExpressionBytes<'a>, fault: &Fault) {
        let repeats = repeats(fault.rule);
        let is_first = match (repeats, self.scopes.last_mut()) {
            (Repeats::Function, Some(scope)) => scope.summary.count(fault.rule),
            (Repeats::Function | Repeats::Unit, _) => self.summary.count(fault.rule),
            (Repeats::Never, _) => true,
        };
        if !is_first {
            return;
        }
        let mut finding = fault.finding(
            &self.label(site.die, site.attribute),
            expression.bytes,
            expression.unit.encoding,
            expression.section,
            expression.offset,
        );
        finding.pc = site.pc;
        finding.function = self.function_name();
        match (repeats, self.scopes.last_mut()) {
            (Repeats::Function, Some(scope)) => scope.summary.set(finding),
            (Repeats::Function | Repeats::Unit, _) => self.summary.set(finding),
            (Repeats::Never, _) => self.findings.add(finding),
        }
    }

    fn count_legacy(&mut self, site: &Site<'_, 'a>, expression: &ExpressionBytes<'a>) {
        if self.summary.count(&rule::LEGACY) {
            let finding = self.legacy(site, expression);
            self.summary.set(finding);
        }
    }

    fn legacy(&self, site: &Site<'_, 'a>, expression: &ExpressionBytes<'a>) -> Finding {
        let text = format!(
            "{}: it loads from an address space instead of giving the location itself",
            self.label(site.die, site.attribute)
        );
        let mut finding = Finding::new(&rule::LEGACY, expression.section, text)
            .at(expression.offset)
            .help(
                "compile with a compiler that writes DWARF Extensions For Heterogeneous Debugging",
            );
        finding.excerpt = excerpt(expression.bytes, expression.unit.encoding, None);
        finding
    }
}

/// Returns true if the first operation of an expression names a vector register.
fn names_vector_register(expression: &ExpressionBytes<'_>) -> bool {
    let first = operations(expression.bytes, expression.unit.encoding).next();
    // Only two operations can encode the numbers of vector registers.
    let register = match first.ok().flatten().map(|item| item.operation) {
        Some(Operation::Regx { register } | Operation::Bregx { register, .. }) => register,
        _ => return false,
    };
    Register::from_number(register).is_some_and(Register::is_vector)
}

/// Returns the meaning of a location that is one register, in a unit without the extensions.
fn legacy_register(expression: &ExpressionBytes<'_>) -> Option<Vec<u8>> {
    let frame = LegacyFrame {
        base: LegacyBase::Unknown,
        scaled_by: None,
    };
    let meaning = rewrite_legacy(expression, None, &frame, &RegistersAlone);
    let is_sure = meaning.doubts.is_empty();
    meaning.readings.into_iter().next().filter(|_| is_sure)
}

/// A unit without known facts, which suffices for expressions that name only registers.
struct RegistersAlone;

impl LegacyUnit for RegistersAlone {
    fn space(&self, _: u64) -> Option<AddressSpace> {
        None
    }

    fn integer(&self, _: Unit, _: u64) -> Option<IntegerType> {
        None
    }

    fn address(&self, _: Unit, _: u64) -> crate::error::Result<u64> {
        Err(ErrorKind::Unsupported("an address").into())
    }

    fn is_loaded(&self, _: u64) -> bool {
        false
    }

    fn is_local(&self, _: u64, _: Option<u64>) -> bool {
        false
    }

    fn has_stack_value(&self) -> bool {
        true
    }
}
