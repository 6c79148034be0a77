//! What the expressions of a frame are evaluated in: one place, so that all that ask get the same answers.

use super::legacy::{LegacyReader, UnitReader};
use super::stop::StopFrame;
use super::waiting::Seen;
use crate::debug_info::{DebugInfo, Function, Iterations, UnitId};
use crate::error::Result;
use crate::eval::{
    Context, ExpressionBytes, LaneFocus, LocationAttribute, Outcome, Resolver, ResultKind,
    Subprogram, evaluate,
};

/// What the expressions of a frame are evaluated in: the wave, the registers of the frame, its function, and the debugging
/// information as the unit means it.
pub struct FrameContext<'s, 'p, 'a> {
    frame: StopFrame<'s, 'p, 'a>,
    registers: Seen<'s, 'p>,
    info: &'p DebugInfo<'a>,
    unit: Option<UnitId>,
    subprogram: Option<Subprogram<'p>>,
    pub(super) reader: UnitReader<'s, 'p, 'a>,
}

impl<'s, 'p, 'a> StopFrame<'s, 'p, 'a> {
    /// What the expressions of the frame's function are evaluated in.
    ///
    /// # Errors
    /// If the debugging information of the function is malformed.
    pub fn context(&self) -> Result<FrameContext<'s, 'p, 'a>> {
        match self.function()? {
            Some(function) => self.context_of(&function, function.die.unit),
            None => Ok(FrameContext::new(*self, None, None, UnitReader::Letter)),
        }
    }

    /// Evaluates an expression of the frame's function in a lane, or for the whole wave.
    ///
    /// ```
    /// use hetdwarf::eval::{ExpressionBytes, Frame, LaneFocus, Outcome, ResultKind, Unit};
    /// use hetdwarf::expr::{Encoding, ParseOptions, parse};
    /// use hetdwarf::prelude::*;
    /// # let file = std::fs::read("src/cli/demo/calls-O2.rocm.hsaco").unwrap();
    /// # #[cfg(feature = "serde")] {
    /// let wave = Snapshot::from_json(&std::fs::read("src/cli/demo/stop.json").unwrap())?;
    /// let object = CodeObject::parse(&file)?;
    /// let program = Program::load(&object)?;
    /// let bytes = parse("DW_OP_call_frame_cfa", &ParseOptions::default())?.encode(Encoding::AMDGPU)?;
    /// let arena = Arena::new();
    /// let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::loaded_at(wave.load_address), &arena);
    ///
    /// let frame = stop.frame(0).unwrap();
    /// let expression = ExpressionBytes::alone(arena.keep(bytes), Unit::unknown(Encoding::AMDGPU));
    /// let found = frame.evaluate(&expression, ResultKind::Location, LaneFocus::None)?;
    /// assert_eq!(found, Outcome::Location(frame.call_frame().cfa()?));
    /// # }
    /// # Ok::<(), hetdwarf::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`evaluate`]; and if the debugging information of the function is malformed.
    pub fn evaluate(
        &self,
        expression: &ExpressionBytes<'p>,
        kind: ResultKind,
        lane: LaneFocus,
    ) -> Result<Outcome<'p>> {
        let context = self.context()?;
        let context = Context {
            lane,
            ..context.context()
        };
        evaluate(expression, kind, &context)
    }

    /// What the expressions of a unit are evaluated in; `function` is the frame's.
    pub(super) fn context_of(
        &self,
        function: &Function<'a>,
        unit: UnitId,
    ) -> Result<FrameContext<'s, 'p, 'a>> {
        let reader = UnitReader::new(*self, function, unit)?;
        Ok(FrameContext::new(*self, Some(function), Some(unit), reader))
    }

    /// The same by the letter, whatever the unit means: for attributes that only the extensions have.
    pub(super) fn context_by_the_letter(
        &self,
        function: &Function<'a>,
    ) -> FrameContext<'s, 'p, 'a> {
        let unit = Some(function.die.unit);
        FrameContext::new(*self, Some(function), unit, UnitReader::Letter)
    }
}

impl<'s, 'p, 'a> FrameContext<'s, 'p, 'a> {
    fn new(
        frame: StopFrame<'s, 'p, 'a>,
        function: Option<&Function<'a>>,
        unit: Option<UnitId>,
        reader: UnitReader<'s, 'p, 'a>,
    ) -> FrameContext<'s, 'p, 'a> {
        let subprogram = function.map(|function| Subprogram {
            frame_base: function.frame_base,
            lanes: function.simt.lanes,
            iterations: match function.simt.iterations {
                Some(Iterations::Constant(count)) => Some(count),
                Some(Iterations::Location(_)) | None => None,
            },
        });
        FrameContext {
            frame,
            registers: frame.seen(),
            info: frame.stop().program().info(),
            unit,
            subprogram,
            reader,
        }
    }

    /// The context, with all lanes in focus.
    #[must_use]
    pub fn context(&self) -> Context<'_, 'p> {
        let stop = self.frame.stop();
        let resolver: &dyn Resolver<'p> = match self.legacy() {
            Some(legacy) => legacy,
            None => &self.info,
        };
        Context {
            wave: Some(stop.wave()),
            processor: Some(stop.program().processor()),
            lane: LaneFocus::All,
            frame: Some(&self.registers),
            pc: Some(self.frame.lookup_address()),
            load_address: stop.options().load_address,
            resolver: Some(resolver),
            subprogram: self.subprogram,
            reading: stop.options().reading,
            limits: *stop.limits(),
            meter: Some(stop.meter()),
            ..Context::new(stop.arena())
        }
    }

    /// The unit of the frame's function; nothing where there is no function.
    #[must_use]
    pub fn unit(&self) -> Option<UnitId> {
        self.unit
    }

    /// How locations are read that are not meant by the letter; nothing if they are.
    pub(super) fn legacy(&self) -> Option<&LegacyReader<'s, 'p, 'a>> {
        self.reader.legacy()
    }

    /// The same with how locations are read.
    pub(super) fn of_variables(&self) -> VariableContext<'_, 'p, 'a> {
        VariableContext {
            context: self.context(),
            legacy: self.legacy(),
        }
    }
}

/// What the locations of a unit's variables are evaluated in.
#[derive(Clone, Copy)]
pub(super) struct VariableContext<'c, 'p, 'a> {
    pub(super) context: Context<'c, 'p>,
    /// How locations are read that are not meant by the letter; nothing if they are.
    pub(super) legacy: Option<&'c LegacyReader<'c, 'p, 'a>>,
}

impl<'p> VariableContext<'_, 'p, '_> {
    /// The location to evaluate for an attribute: what a unit without the extensions means by it, or the attribute itself.
    ///
    /// # Errors
    /// If it can mean several.
    pub(super) fn rewrite_legacy(
        &self,
        attribute: LocationAttribute<'p>,
    ) -> Result<LocationAttribute<'p>> {
        match self.legacy {
            Some(legacy) => legacy.attribute(attribute),
            None => Ok(attribute),
        }
    }
}

impl core::fmt::Debug for FrameContext<'_, '_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FrameContext")
            .field("level", &self.frame.call_frame().level())
            .field("unit", &self.unit)
            .finish_non_exhaustive()
    }
}
