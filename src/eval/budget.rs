//! Tracks the budget of an evaluation.

use core::cell::Cell;

use super::context::Context;
use crate::error::{Limit, Result};
use crate::location::Location;

/// The remaining budget of an evaluation and its nested evaluations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) steps: u32,
    pub(super) depth: u16,
    /// True if the result depended on the lane.
    pub(super) used_lane: bool,
    /// True if an operation could not handle all lanes at once.
    pub(super) needs_lane: bool,
}

/// The number of steps taken at once. The arena's size is checked before the next slice, since each step may allocate there.
const SLICE: u32 = 1 << 20;

impl Budget {
    pub(super) fn new(context: &Context<'_, '_>) -> Budget {
        Budget {
            steps: context.limits.steps,
            // The enclosing evaluation may have larger limits.
            depth: (context.limits.depth).saturating_sub(context.nesting.map_or(0, Cell::get)),
            used_lane: false,
            needs_lane: false,
        }
    }

    /// Takes `count` steps.
    ///
    /// # Errors
    /// [`Limit::Steps`], without taking any; [`Limit::Work`].
    #[inline(always)]
    pub(super) fn charge(&mut self, count: u32, context: &Context<'_, '_>) -> Result<()> {
        let Some(steps) = self.steps.checked_sub(count) else {
            return Err(context.limits.reached(Limit::Steps));
        };
        self.steps = steps;
        match context.meter {
            Some(meter) => meter.work(count.into()),
            None => Ok(()),
        }
    }

    /// Takes the [`steps_for_places`].
    #[inline]
    pub(super) fn charge_places(
        &mut self,
        location: &Location<'_>,
        context: &Context<'_, '_>,
    ) -> Result<()> {
        steps_for_places(location).map_or(Ok(()), |steps| self.charge(steps, context))
    }

    /// Reserves up to [`SLICE`] steps of this evaluation's budget and of the query's meter. [`refund`](Budget::refund) returns unused ones.
    #[inline(always)]
    pub(super) fn prepay(&mut self, context: &Context<'_, '_>) -> u32 {
        let most = self.steps.min(SLICE);
        let taken = match context.meter {
            Some(meter) => meter.take_steps(most),
            None => most,
        };
        debug_assert!(taken <= self.steps, "{taken} of {}", self.steps);
        self.steps = self.steps.wrapping_sub(taken);
        taken
    }

    /// Returns steps that were reserved and not used.
    #[inline(always)]
    pub(super) fn refund(&mut self, count: u32, context: &Context<'_, '_>) {
        debug_assert!(
            self.steps.checked_add(count).is_some(),
            "{count} were not taken"
        );
        self.steps = self.steps.wrapping_add(count);
        if let Some(meter) = context.meter {
            meter.refund_steps(count.into());
        }
    }
}

/// Returns the steps for a location: one for each place if there are several, since each place is processed.
#[inline]
pub(super) fn steps_for_places(location: &Location<'_>) -> Option<u32> {
    match location {
        Location::One(_) => None,
        // No evaluation has more steps than a number of 32 bits counts.
        Location::Many(places) => Some(u32::try_from(places.len()).unwrap_or(u32::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Register;
    use crate::error::{ErrorKind, Need};
    use crate::eval::{
        BaseType, DieReference, ExpressionBytes, Frame, LocationAttribute, LocationEntry, Outcome,
        Procedure, Reading, Resolver, ResultKind, Subprogram, Unit, evaluate,
    };
    use crate::expr::{Encoding, ParseOptions, parse};
    use crate::limits::Limits;
    use crate::location::Arena;
    use crate::meter::Meter;

    /// A frame and debugging information that record the number of steps when queried, and take ten steps themselves.
    struct Asked<'d> {
        meter: &'d Meter,
        at: Cell<Option<u64>>,
    }

    impl Asked<'_> {
        fn note(&self) {
            self.at.set(Some(self.meter.steps()));
            // The caller detects that none are left.
            let _ = self.meter.work(10);
        }
    }

    impl<'a> Frame<'a> for Asked<'_> {
        fn register(&self, _: Register) -> Result<Location<'a>> {
            self.note();
            Ok(Location::byte(0))
        }

        fn entry_register(&self, register: Register) -> Result<Location<'a>> {
            self.register(register)
        }

        fn cfa(&self) -> Result<Location<'a>> {
            self.note();
            Ok(Location::byte(0))
        }

        fn with_caller(
            &self,
            visit: &mut dyn FnMut(&dyn Frame<'a>, u64) -> Result<()>,
        ) -> Result<bool> {
            visit(self, 0).map(|()| true)
        }
    }

    impl<'a> Resolver<'a> for Asked<'_> {
        /// Returns a constant for a reference in a section, and no procedure for a call.
        fn procedure(&self, _: Unit, die: DieReference) -> Result<Procedure<'a>> {
            self.note();
            Ok(match die {
                DieReference::InSection(_) => Procedure::Constant(&[1; 8]),
                DieReference::InUnit(_) => Procedure::Nothing,
            })
        }

        fn base_type(&self, _: Unit, _: u64) -> Result<BaseType> {
            self.note();
            Ok(BaseType::generic(64))
        }

        fn address(&self, _: Unit, index: u64) -> Result<u64> {
            self.note();
            Ok(index)
        }

        fn location_list(
            &self,
            _: Unit,
            _: u64,
            _: u64,
            _: &mut dyn FnMut(Option<LocationEntry<'a>>) -> Result<()>,
        ) -> Result<()> {
            self.note();
            Ok(())
        }
    }

    /// Operations evaluated after two others. The numbers are the steps counted at the query, and the total steps of the evaluation itself. The last
    /// text is the frame base.
    const ASKING: [(&str, u64, u64, &str); 12] = [
        ("DW_OP_regx 0x28, DW_OP_drop", 3, 4, ""),
        ("DW_OP_LLVM_call_frame_entry_reg 0x28, DW_OP_drop", 3, 4, ""),
        ("DW_OP_call_frame_cfa, DW_OP_drop", 3, 4, ""),
        // The frame is queried after the first operation of its base has begun.
        ("DW_OP_fbreg +0x1, DW_OP_drop", 4, 5, "DW_OP_call_frame_cfa"),
        (
            "DW_OP_fbreg +0x1, DW_OP_drop",
            4,
            6,
            "DW_OP_call_frame_cfa, DW_OP_nop",
        ),
        // The inner expression: two operations before the frame is queried, one after.
        (
            "DW_OP_entry_value(DW_OP_lit1, DW_OP_call_frame_cfa, DW_OP_drop), DW_OP_drop",
            5,
            7,
            "",
        ),
        ("DW_OP_addrx 0x1, DW_OP_drop", 3, 4, ""),
        ("DW_OP_constx 0x1, DW_OP_drop", 3, 4, ""),
        ("DW_OP_lit0, DW_OP_form_tls_address, DW_OP_drop", 4, 5, ""),
        // Finding an entry costs 16 steps.
        ("DW_OP_call4 0x8, DW_OP_nop", 19, 20, ""),
        ("DW_OP_lit0, DW_OP_convert 0x8, DW_OP_drop", 20, 21, ""),
        // The target is looked up when its location is needed, by the fifth operation.
        (
            "DW_OP_implicit_pointer 0x8 +0x0, DW_OP_deref, DW_OP_LLVM_offset_uconst 0x0, DW_OP_drop",
            21,
            22,
            "",
        ),
    ];

    /// Evaluates `DW_OP_lit1, DW_OP_drop` and `text`. Returns the result, the steps at the query and the total steps.
    fn ask(text: &str, frame_base: &str, limits: Limits) -> (Result<()>, Option<u64>, u64) {
        let arena = Arena::new();
        let expression = |text: &str| {
            let parsed = parse(text, &ParseOptions::default()).unwrap();
            let bytes = arena.keep(parsed.encode(Encoding::AMDGPU).unwrap());
            ExpressionBytes::alone(bytes, Unit::unknown(Encoding::AMDGPU))
        };
        let meter = Meter::new(&limits, 0);
        let frame = Asked {
            meter: &meter,
            at: Cell::new(None),
        };
        let frame_base = LocationAttribute::Expression(expression(frame_base));
        let tls = |_| frame.cfa();
        let context = Context {
            frame: Some(&frame),
            resolver: Some(&frame),
            tls: Some(&tls),
            subprogram: Some(Subprogram {
                frame_base: Some(frame_base),
                ..Subprogram::default()
            }),
            meter: Some(&meter),
            limits,
            ..Context::new(&arena)
        };
        let expression = expression(&format!("DW_OP_lit1, DW_OP_drop, {text}"));
        let result = evaluate(&expression, ResultKind::Any, &context).map(drop::<Outcome<'_>>);
        (result, frame.at.get(), meter.steps())
    }

    #[test]
    fn whoever_is_asked_finds_every_step_done_and_its_own_are_counted() {
        for (text, found, steps, base) in ASKING {
            let (result, at, done) = ask(text, base, Limits::DEFAULT);
            result.unwrap_or_else(|error| panic!("{text}, {base}: {error}"));
            assert_eq!((at, done), (Some(found), steps + 10), "{text}, {base}");
        }
    }

    /// Querying a call site costs a step. Without debugging information there is no query.
    #[test]
    fn asking_a_call_site_is_a_step() {
        let steps = |has_resolver: bool| {
            let arena = Arena::new();
            let meter = Meter::new(&Limits::DEFAULT, 0);
            let asked = Asked {
                meter: &meter,
                at: Cell::new(None),
            };
            let context = Context {
                frame: Some(&asked),
                resolver: has_resolver.then_some(&asked as _),
                pc: Some(0x1000),
                reading: Reading::Tolerant,
                meter: Some(&meter),
                ..Context::new(&arena)
            };
            // DW_OP_entry_value of DW_OP_reg17
            let expression =
                ExpressionBytes::alone(&[0xa3, 1, 0x61], Unit::unknown(Encoding::AMDGPU));
            // The register is in memory, but there is no wave.
            let error = evaluate(&expression, ResultKind::Any, &context).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::MissingContext(Need::Wave));
            meter.steps()
        };
        let [with, without] = [true, false].map(steps);
        assert_eq!(with, without + 1);
    }

    #[test]
    fn both_limits_are_reached_at_their_step() {
        for (text, _, steps, base) in ASKING {
            let limits = |steps, work| Limits {
                steps,
                work,
                ..Limits::DEFAULT
            };
            let own = u32::try_from(steps).unwrap();
            // The stop charges the ten, not this evaluation.
            ask(text, base, limits(own, steps + 10)).0.unwrap();
            for (limits, reached) in [
                (limits(own - 1, steps + 10), Limit::Steps),
                (limits(own, steps + 9), Limit::Work),
            ] {
                let error = ask(text, base, limits).0.unwrap_err();
                assert!(
                    matches!(error.kind(), ErrorKind::Limit { limit, .. } if *limit == reached),
                    "{text}, {base}: {error}"
                );
            }
        }
    }
}
