//! Implements branches and calls. Source: HET A.2.5.4.2.

use fallible_iterator::FallibleIterator;

use super::context::Context;
use super::machine::{Activation, Machine};
use super::resolver::{DieReference, LocationAttribute, Procedure, Resolver};
use super::stack::Entry;
use crate::error::{Error, Limit, Need, Result, SpecRule};
use crate::expr::{Decoder, operations};
use crate::location::{Location, Place, Storage};

/// The steps charged for finding and reading an entry.
pub(super) const ENTRY: u32 = 16;

impl<'c, 'a> Machine<'_, 'c, 'a> {
    /// Returns the resolver of entries, after returning unused steps: its own evaluations take steps as well.
    pub(super) fn resolver(&mut self) -> Result<&'c dyn Resolver<'a>> {
        self.flush();
        self.context.resolver.ok_or_else(|| Need::Unit.into())
    }

    #[inline(always)]
    pub(super) fn branch_if(&mut self, decoder: &mut Decoder<'a>, distance: i16) -> Result<()> {
        // A value that differs from lane to lane is rejected here, and each lane is then evaluated on its own.
        let taken = if let Some(value) = self.stack.top_generic() {
            let taken = *value != 0;
            self.stack.drop_last();
            taken
        } else {
            self.pop_value()?.is_true()?
        };
        if taken {
            self.branch(decoder, distance)
        } else {
            Ok(())
        }
    }

    #[inline(always)]
    pub(super) fn branch(&mut self, decoder: &mut Decoder<'a>, distance: i16) -> Result<()> {
        let after = decoder.position();
        // A target before the start wraps to a number after the end.
        let target = after.wrapping_add_signed(distance.into());
        if target != self.here.valid_target {
            self.check_target(target)?;
        }
        decoder.cursor().go_to(target)
    }

    /// Checks that a branch target is the start of an operation, decoded from the first byte, or the end.
    // Each new target is checked once.
    #[cold]
    fn check_target(&mut self, target: usize) -> Result<()> {
        let expression = self.here.expression;
        if target > expression.bytes.len() {
            return Err(SpecRule::BranchTarget.into());
        }
        let mut items = operations(expression.bytes, expression.unit.encoding);
        let mut at = 0;
        let mut count = 0u32;
        while at < target {
            match items.next()? {
                Some(item) => at = item.end,
                None => break,
            }
            // No evaluation has more steps than it counts.
            count = count.saturating_add(1);
        }
        // Finding the start of an operation costs as much as executing the operations before it.
        self.charge(count)?;
        if at != target {
            return Err(SpecRule::BranchTarget.into());
        }
        self.here.valid_target = target;
        Ok(())
    }

    /// Calls the expression of an entry. If it is executed on this stack, `decoder` continues in it.
    #[inline(always)]
    pub(super) fn call(&mut self, decoder: &mut Decoder<'a>, die: DieReference) -> Result<()> {
        self.here.decoder = *decoder;
        self.call_entry(die)?;
        *decoder = self.here.decoder;
        Ok(())
    }

    fn call_entry(&mut self, die: DieReference) -> Result<()> {
        self.charge(ENTRY)?;
        let found = self.resolver()?.procedure(self.unit(), die);
        // It is large, so it is copied only once, to its final place.
        match &found {
            Ok(Procedure::Location(LocationAttribute::Expression(expression))) => {
                self.enter()?;
                self.callers.push(self.here);
                self.here = Activation::new(expression);
                Ok(())
            }
            Ok(Procedure::Location(list @ LocationAttribute::List { .. })) => {
                let context = Context {
                    initial_stack: &[],
                    ..*self.context
                };
                let location = self.nested(list, &context)?;
                self.push(Entry::Location(location))
            }
            Ok(Procedure::Constant(bytes)) => self.push(Entry::Location(Location::One(
                Place::new(Storage::Constant(bytes), 0),
            ))),
            Ok(Procedure::Nothing) => Ok(()),
            Err(_) => found.map(drop),
        }
    }

    /// Goes one level deeper.
    pub(super) fn enter(&mut self) -> Result<()> {
        match self.budget.depth.checked_sub(1) {
            Some(depth) => {
                self.budget.depth = depth;
                self.say_depth();
                Ok(())
            }
            None => Err(self.context.limits.reached(Limit::Depth)),
        }
    }

    /// Comes back from the level below.
    pub(super) fn leave(&mut self) {
        debug_assert!(self.budget.depth < self.context.limits.depth);
        self.budget.depth = self.budget.depth.wrapping_add(1);
        self.say_depth();
    }

    /// Stores the current depth for evaluations that begin within this one.
    fn say_depth(&self) {
        if let Some(nesting) = self.context.nesting {
            debug_assert!(self.budget.depth <= self.context.limits.depth);
            nesting.set((self.context.limits.depth).wrapping_sub(self.budget.depth));
        }
    }

    /// Evaluates the location in another attribute on a separate stack.
    pub(super) fn nested(
        &mut self,
        attribute: &LocationAttribute<'a>,
        context: &Context<'_, 'a>,
    ) -> Result<Location<'a>> {
        self.enter()?;
        self.flush();
        let result = super::per_lane::locate_within(attribute, context, self.budget);
        self.leave();
        result
    }
}

/// Returns the program location, which a location list needs.
pub(super) fn pc(context: &Context<'_, '_>) -> Result<u64> {
    context.pc.ok_or_else(|| Error::from(Need::Pc))
}
