//! Creates the contexts of expressions in one place, so that all queries get the same answers.

use super::epilogue::in_epilogue;
use super::legacy::{Asked, LegacyReader, UnitReader, subprogram};
use super::program::Program;
use super::stop::{Stop, StopFrame};
use super::waiting::Seen;
use crate::arch::WaveSize;
use crate::debug_info::{DebugInfo, Function, UnitId};
use crate::error::Result;
use crate::eval::{
    Context, ExpressionBytes, LaneFocus, LocationAttribute, Outcome, Reading, Resolver, ResultKind,
    Subprogram, Unit, evaluate,
};
use crate::expr::Encoding;
use crate::location::Arena;

/// The context for a frame's expressions: the wave, the registers of the frame, its function, and the debugging information in the unit's convention.
pub struct FrameContext<'s, 'p, 'a> {
    frame: StopFrame<'s, 'p, 'a>,
    registers: Seen<'s, 'p>,
    info: &'p DebugInfo<'a>,
    unit: Option<UnitId>,
    subprogram: Option<Subprogram<'p>>,
    pub(super) reader: UnitReader<'p, 'a>,
}

impl<'s, 'p, 'a> StopFrame<'s, 'p, 'a> {
    /// Returns the context for the expressions of the frame's function.
    ///
    /// # Errors
    /// If the debugging information of the function is malformed.
    pub fn context(&self) -> Result<FrameContext<'s, 'p, 'a>> {
        match self.function()? {
            Some(function) => self.context_of(&function, function.die.unit),
            None => Ok(FrameContext::new(*self, None, None, UnitReader::Strict)),
        }
    }

    /// Evaluates an expression of the frame's function in a lane, or for the whole wave.
    ///
    /// ```
    /// use hetdwarf::eval::{ExpressionBytes, Frame, LaneFocus, Outcome, ResultKind, Unit};
    /// use hetdwarf::expr::{Encoding, ParseOptions, parse};
    /// use hetdwarf::prelude::*;
    /// # let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
    /// # #[cfg(feature = "serde")] {
    /// let wave = Snapshot::from_json(&std::fs::read("examples/demo/stop.json").unwrap())?;
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
    /// Fails like [`evaluate`], or if the debugging information of the function is malformed.
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

    /// Returns the context for a unit's expressions. `function` is the frame's function.
    pub(crate) fn context_of(
        &self,
        function: &Function<'a>,
        unit: UnitId,
    ) -> Result<FrameContext<'s, 'p, 'a>> {
        let restored = self.in_epilogue(function);
        let function = restored.as_ref().unwrap_or(function);
        let reader = UnitReader::new(Asked::of_frame(self), Some(function), unit)?;
        Ok(FrameContext::new(*self, Some(function), Some(unit), reader))
    }

    /// Returns the function with another frame base, if this frame is the innermost and its epilogue has restored the frame pointer. Returns `None`
    /// if the original frame base is valid.
    fn in_epilogue(&self, function: &Function<'a>) -> Option<Function<'a>> {
        let stop = self.stop();
        if self.call_frame().level() != 0 || stop.options().reading != Reading::Tolerant {
            return None;
        }
        let address = self.lookup_address();
        in_epilogue(stop.program(), function, address, self.wave_size())
    }

    /// Returns the context for strict reading, regardless of the unit's convention, for attributes that only the extensions have.
    pub(super) fn strict_context_of(&self, function: &Function<'a>) -> FrameContext<'s, 'p, 'a> {
        let unit = Some(function.die.unit);
        FrameContext::new(*self, Some(function), unit, UnitReader::Strict)
    }
}

impl<'s, 'p, 'a> FrameContext<'s, 'p, 'a> {
    fn new(
        frame: StopFrame<'s, 'p, 'a>,
        function: Option<&Function<'a>>,
        unit: Option<UnitId>,
        reader: UnitReader<'p, 'a>,
    ) -> FrameContext<'s, 'p, 'a> {
        let program = frame.stop().program();
        let subprogram = function.map(|function| subprogram(program, function, &reader));
        FrameContext {
            frame,
            registers: frame.seen(),
            info: program.info(),
            unit,
            subprogram,
            reader,
        }
    }

    /// Returns the context, with all lanes in focus.
    #[must_use]
    pub fn context(&self) -> Context<'_, 'p> {
        let stop = self.frame.stop();
        let asked = Asked::of_frame(&self.frame);
        Context {
            wave: Some(stop.wave()),
            lane: LaneFocus::All,
            frame: Some(&self.registers),
            pc: Some(self.frame.lookup_address()),
            load_address: stop.options().load_address,
            subprogram: self.subprogram,
            ..of_unit(asked, &self.info, &self.reader)
        }
    }

    /// Returns the unit of the frame's function, or `None` if there is no function.
    #[must_use]
    pub fn unit(&self) -> Option<UnitId> {
        self.unit
    }

    /// Returns the unit that an expression in the frame refers to, and the offset of its header: the unit of the frame's function, or the first
    /// unit of the object.
    ///
    /// # Errors
    /// If the unit is malformed.
    pub fn expression_unit(&self) -> Result<(Unit, u64)> {
        match self.unit.or_else(|| self.info.unit_ids().next()) {
            Some(id) => Ok((self.info.eval_unit(id)?, self.info.unit_info(id)?.offset)),
            None => Ok((Unit::unknown(Encoding::AMDGPU), 0)),
        }
    }

    /// Returns the stop of the frame.
    pub(super) fn stop(&self) -> &'s Stop<'p, 'a> {
        self.frame.stop()
    }

    /// Returns the reader of locations that follow the producer's conventions, or `None` if locations are read strictly.
    pub(super) fn legacy(&self) -> Option<&LegacyReader<'p, 'a>> {
        self.reader.legacy()
    }

    /// Adds the convention for reading locations.
    pub(super) fn of_variables(&self) -> VariableContext<'_, 'p, 'a> {
        VariableContext {
            context: self.context(),
            legacy: self.legacy(),
        }
    }
}

/// Creates the part of a context that does not depend on a frame: the debugging information in the unit's convention, and the meter.
fn of_unit<'c, 'p, 'a>(
    asked: Asked<'p, 'a>,
    info: &'c &'p DebugInfo<'a>,
    reader: &'c UnitReader<'p, 'a>,
) -> Context<'c, 'p> {
    let resolver: &dyn Resolver<'p> = match reader.legacy() {
        Some(legacy) => legacy,
        None => info,
    };
    Context {
        processor: Some(asked.program.processor()),
        resolver: Some(resolver),
        reading: asked.reading,
        limits: *asked.program.limits(),
        meter: Some(asked.meter),
        ..Context::new(asked.arena)
    }
}

/// The context for expressions of a program without a wave: the debugging information in a unit's convention.
pub struct ProgramContext<'p, 'a> {
    asked: Asked<'p, 'a>,
    info: &'p DebugInfo<'a>,
    reader: UnitReader<'p, 'a>,
}

impl<'a> Program<'a> {
    /// Returns the context for a unit's expressions without a stopped wave. It resembles a frame's context ([`StopFrame::context`]), but expressions
    /// that need registers, memory or a frame fail.
    ///
    /// ```
    /// use hetdwarf::eval::{ExpressionBytes, Outcome, Reading, ResultKind, evaluate};
    /// use hetdwarf::expr::{Encoding, ParseOptions, parse};
    /// use hetdwarf::prelude::*;
    ///
    /// let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
    /// let object = CodeObject::parse(&file)?;
    /// let program = Program::load(&object)?;
    /// let arena = Arena::new();
    /// let unit = program.info().unit_ids().next().unwrap();
    /// let context = program.context(Some(unit), Reading::Tolerant, &arena)?;
    ///
    /// let bytes = parse("DW_OP_addr 0x1000", &ParseOptions::default())?.encode(Encoding::AMDGPU)?;
    /// let expression = ExpressionBytes::alone(&bytes, program.info().eval_unit(unit)?);
    /// let found = evaluate(&expression, ResultKind::Location, &context.context())?;
    /// assert!(matches!(found, Outcome::Location(_)));
    /// # Ok::<(), hetdwarf::Error>(())
    /// ```
    ///
    /// * `unit`: the unit; without one, expressions are read strictly.
    ///
    /// # Errors
    /// If the unit is malformed.
    pub fn context<'p>(
        &'p self,
        unit: Option<UnitId>,
        reading: Reading,
        arena: &'p Arena<'p>,
    ) -> Result<ProgramContext<'p, 'a>> {
        let wave_size = self.processor().default_wave_size();
        let asked = Asked {
            program: self,
            reading,
            wave_size: wave_size.unwrap_or(WaveSize::Wave64),
            arena,
            meter: arena.meter(self.object().meter().for_query()),
        };
        Ok(ProgramContext {
            asked,
            info: self.info(),
            reader: match unit {
                Some(unit) => UnitReader::new(asked, None, unit)?,
                None => UnitReader::Strict,
            },
        })
    }
}

impl<'p> ProgramContext<'p, '_> {
    /// Returns the context, with no lane in focus.
    #[must_use]
    pub fn context(&self) -> Context<'_, 'p> {
        of_unit(self.asked, &self.info, &self.reader)
    }
}

impl core::fmt::Debug for ProgramContext<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ProgramContext")
            .field("reading", &self.asked.reading)
            .finish_non_exhaustive()
    }
}

/// The context for the locations of a unit's variables.
#[derive(Clone, Copy)]
pub(super) struct VariableContext<'c, 'p, 'a> {
    pub(super) context: Context<'c, 'p>,
    /// The reader of locations that follow the producer's conventions, or `None` if locations are read strictly.
    pub(super) legacy: Option<&'c LegacyReader<'p, 'a>>,
}

impl<'p> VariableContext<'_, 'p, '_> {
    /// Returns the location to evaluate for an attribute: its translation in a unit without the extensions, or the attribute itself.
    ///
    /// # Errors
    /// If it is ambiguous.
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
