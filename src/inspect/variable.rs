//! The variables of a frame, and their values in every lane.

use core::cell::Cell;

use super::layout::{LaneTypes, has_moving_members};
use super::legacy::{LegacyResolver, is_legacy_llvm, legacy_frame};
use super::stop::{StopFrame, is_active};
use crate::arch::Lane;
use crate::debug_info::types::{TypeId, TypeTable};
use crate::debug_info::{DebugInfo, Function, Iterations, UnitId, Variable, type_name};
use crate::display::{self, Options, TypedBytes};
use crate::error::{Error, ErrorKind, Limit, Result};
use crate::eval::{
    Context, LaneFocus, LocationAttribute, PerLane, Reading, Resolver, Subprogram, locate_lanes,
};
use crate::location::{
    Access, Bits, LaneBits, Location, Storage, Visits, read_lanes_within, read_within,
};

/// The most bytes of a variable that are read for each lane; what is behind them is not shown.
pub(super) const MOST_BYTES: u64 = 1 << 16;

/// How a variable's location was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocationReading {
    /// As the DWARF says.
    Dwarf,
    /// As LLVM without the extensions means it; see `spec-notes/legacy-llvm.md`.
    LegacyLlvm,
}

impl LocationReading {
    /// The name in JSON documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LocationReading::Dwarf => "dwarf",
            LocationReading::LegacyLlvm => "legacy-llvm",
        }
    }
}

/// What is known of a variable in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneState {
    /// All of it.
    Ok,
    /// Nothing: it was optimised away here.
    OptimizedOut,
    /// Some of it; what is missing is said in its place.
    Partial,
    /// Nothing: the debugger does not have the bytes.
    Unavailable,
    /// Its location cannot be evaluated.
    Error(Error),
    /// The lane does not execute here.
    Inactive,
}

impl LaneState {
    /// The name in JSON documents.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            LaneState::Ok => "ok",
            LaneState::OptimizedOut => "optimized-out",
            LaneState::Partial => "partial",
            LaneState::Unavailable => "unavailable",
            LaneState::Error(_) => "error",
            LaneState::Inactive => "inactive",
        }
    }
}

/// A variable with its value in every lane.
#[derive(Clone, Debug)]
pub struct VariableValue<'a> {
    /// The variable.
    pub variable: Variable<'a>,
    /// Its type; one that is laid out at run time is in [`type_in`](VariableValue::type_in).
    pub ty: TypeId,
    /// Its type's name, as the source writes it.
    pub type_name: String,
    /// How its location was read.
    pub reading: LocationReading,
    contents: Contents<'a>,
    exec: Option<u64>,
    /// The type in each lane, where it is laid out at run time.
    lane_types: Vec<TypeId>,
}

/// Where the bits are.
#[derive(Clone, Debug)]
pub(super) enum Contents<'a> {
    /// Nowhere.
    None,
    /// The same for all lanes.
    Constant(Bits),
    /// Read for all lanes at once.
    Lanes {
        bits: LaneBits,
        location: Location<'a>,
    },
    /// Lane by lane.
    Each(Vec<Result<(Bits, Location<'a>)>>),
    /// It cannot be said.
    Failed(Error),
}

impl<'a> VariableValue<'a> {
    /// The bits of a lane, whether or not it executes.
    ///
    /// # Errors
    /// The reason why the location cannot be evaluated or read.
    pub fn bits(&self, lane: Lane) -> Result<Option<Bits>> {
        match &self.contents {
            Contents::None => Ok(None),
            Contents::Constant(bits) => Ok(Some(bits.clone())),
            Contents::Lanes { bits, .. } => Ok(Some(bits.bits(lane))),
            Contents::Each(lanes) => match lanes.get(usize::from(lane.0)) {
                Some(Ok((bits, _))) => Ok(Some(bits.clone())),
                Some(Err(error)) => Err(error.clone()),
                None => Ok(None),
            },
            Contents::Failed(error) => Err(error.clone()),
        }
    }

    /// Where the variable is in a lane; nothing if it has no location.
    #[must_use]
    pub fn location(&self, lane: Lane) -> Option<Location<'a>> {
        match &self.contents {
            Contents::Lanes { location, .. } => Some(*location),
            Contents::Each(lanes) => lanes
                .get(usize::from(lane.0))
                .and_then(|lane| lane.as_ref().ok())
                .map(|(_, l)| *l),
            Contents::None | Contents::Constant(_) | Contents::Failed(_) => None,
        }
    }

    /// What is known of the variable in a lane.
    #[must_use]
    pub fn state(&self, lane: Lane) -> LaneState {
        if !is_active(self.exec, lane) {
            return LaneState::Inactive;
        }
        match self.bits(lane) {
            Ok(None) => LaneState::OptimizedOut,
            Ok(Some(bits)) => {
                let all = 0..bits.bit_size;
                if bits.is_complete() {
                    LaneState::Ok
                } else if bits.undefined.covers(all.clone()) {
                    LaneState::OptimizedOut
                } else if bits.unavailable.covers(all) {
                    LaneState::Unavailable
                } else {
                    LaneState::Partial
                }
            }
            Err(error) => LaneState::Error(error),
        }
    }

    /// The value in a lane as a debugger of C prints it, whether or not the lane executes; nothing if there
    /// are no bits.
    #[must_use]
    pub fn text(&self, lane: Lane, types: &TypeTable, options: &Options) -> Option<String> {
        let bits = self.bits(lane).ok()??;
        let value = TypedBytes {
            bytes: &bits.bytes,
            undefined: &bits.undefined,
            unavailable: &bits.unavailable,
        };
        Some(display::to_string(
            types,
            self.type_in(lane),
            &value,
            options,
        ))
    }

    /// The type in a lane, with the bounds and the places of members that it has there.
    #[must_use]
    pub fn type_in(&self, lane: Lane) -> TypeId {
        let own = self.lane_types.get(usize::from(lane.0));
        own.copied().unwrap_or(self.ty)
    }
}

impl<'p> StopFrame<'_, 'p, '_> {
    /// The variables in scope, the innermost scope first, with their values in every lane; `types` gets
    /// their types. At the end come those of file scope.
    ///
    /// A variable that cannot be read says so itself, and costs the others nothing.
    ///
    /// # Errors
    /// If the entries of the function are malformed.
    pub fn variables(&self, types: &mut TypeTable) -> Result<Vec<VariableValue<'p>>> {
        self.stop.begin_question();
        let info = self.stop.program().info();
        let Some(function) = self.function()? else {
            return Ok(Vec::new());
        };
        let variables = info.variables_at(&function, self.frame.lookup_address())?;
        let reader = Reader {
            frame: *self,
            function: &function,
            exec: self.exec(),
            held: Cell::new(0),
        };
        Ok(variables
            .into_iter()
            .map(|variable| reader.read(variable, types))
            .collect())
    }
}

pub(super) struct Reader<'r, 's, 'p, 'a> {
    pub(super) frame: StopFrame<'s, 'p, 'a>,
    function: &'r Function<'a>,
    pub(super) exec: Option<u64>,
    /// How many bytes of variables were kept.
    held: Cell<u64>,
}

/// What the locations of a unit's variables are evaluated in.
#[derive(Clone, Copy)]
pub(super) struct Scene<'c, 'p> {
    pub(super) context: Context<'c, 'p>,
    /// The location that is meant by one that may be of LLVM without the extensions.
    pub(super) meant: &'c dyn Fn(LocationAttribute<'p>) -> Result<LocationAttribute<'p>>,
}

impl<'p, 'a> Reader<'_, '_, 'p, 'a> {
    fn read(&self, variable: Variable<'a>, types: &mut TypeTable) -> VariableValue<'p> {
        let info = self.frame.stop.program().info();
        let ty = info.read_type(types, variable.ty);
        let (ty, type_problem) = match ty {
            Ok(ty) => (ty, None),
            Err(error) => (TypeId(u32::MAX), Some(error)),
        };
        let reading = Cell::new(LocationReading::Dwarf);
        let mut lane_types = LaneTypes::default();
        let contents = match (type_problem, &variable.problem) {
            (Some(error), _) => Contents::Failed(error),
            (None, Some(error)) if variable.location.is_none() => Contents::Failed(error.clone()),
            (None, _) => self
                .contents(&variable, ty, &reading, types, &mut lane_types)
                .unwrap_or_else(Contents::Failed),
        };
        let type_name = type_name(types, lane_types.common().unwrap_or(ty));
        VariableValue {
            variable,
            ty,
            type_name,
            reading: reading.get(),
            contents,
            exec: self.exec,
            lane_types: lane_types.lanes,
        }
    }

    fn contents(
        &self,
        variable: &Variable<'a>,
        ty: TypeId,
        reading: &Cell<LocationReading>,
        types: &mut TypeTable,
        lane_types: &mut LaneTypes,
    ) -> Result<Contents<'p>> {
        let Some(attribute) = variable.location else {
            let Some(value) = &variable.const_value else {
                return Ok(Contents::None);
            };
            let bit_size = (value.len() as u64).saturating_mul(8);
            return Ok(Contents::Constant(Bits {
                bytes: value.clone(),
                bit_size,
                ..Bits::default()
            }));
        };
        let Some(entry) = variable.ty else {
            return Err(Error::malformed("variable", "it has no type"));
        };
        let info = self.frame.stop.program().info();
        let size = info
            .byte_size(entry)
            .filter(|_| !has_moving_members(types, ty));
        self.in_scene(variable.die.unit, reading, |scene| {
            let attribute = (scene.meant)(attribute)?;
            let locations = locate_lanes(&attribute, &scene.context)?;
            match (size, &locations) {
                (Some(size), _) => {
                    let bit_size = size.min(MOST_BYTES).saturating_mul(8);
                    self.fetch(locations, bit_size)
                }
                (None, PerLane::All(location)) if is_undefined(location) => Ok(Contents::None),
                (None, _) => self.fetch_laid_out((entry, ty), &attribute, scene, types, lane_types),
            }
        })
    }

    /// Calls `then` with what the locations of variables of a unit are evaluated in.
    fn in_scene<T>(
        &self,
        unit: UnitId,
        reading: &Cell<LocationReading>,
        then: impl FnOnce(&Scene<'_, 'p>) -> Result<T>,
    ) -> Result<T> {
        let stop = self.frame.stop;
        let info: &'p DebugInfo<'a> = stop.program().info();
        let subprogram = Subprogram {
            frame_base: self.function.frame_base,
            lanes: self.function.simt.lanes,
            iterations: match self.function.simt.iterations {
                Some(Iterations::Constant(count)) => Some(count),
                Some(Iterations::Location(_)) | None => None,
            },
        };
        let call_frame = self.frame.frame;
        let context = Context {
            wave: Some(stop.wave()),
            processor: Some(stop.program().processor()),
            lane: LaneFocus::All,
            frame: Some(&call_frame),
            pc: Some(call_frame.lookup_address()),
            load_address: stop.options().load_address,
            resolver: Some(&info),
            subprogram: Some(subprogram),
            reading: stop.options().reading,
            limits: *stop.limits(),
            steps_done: Some(stop.step_counter()),
            ..Context::new(stop.arena())
        };
        let unit = info.unit_info(unit)?;
        if stop.options().reading != Reading::Tolerant || !is_legacy_llvm(&unit) {
            let meant: &dyn Fn(_) -> _ = &Ok;
            return then(&Scene { context, meant });
        }
        let resolver: &dyn Resolver<'p> = &info;
        let legacy = LegacyResolver {
            inner: resolver,
            frame: legacy_frame(stop.program(), self.function, stop.wave().wave_size()),
            arena: stop.arena(),
            used: Cell::new(false),
        };
        let meant = |attribute| {
            if let LocationAttribute::Expression(expression) = attribute {
                let length = expression.bytes.len() as u64;
                let limits = stop.limits();
                limits.charge_stop(stop.step_counter(), length / 8)?;
            }
            Ok(legacy.attribute(attribute))
        };
        let context = Context {
            resolver: Some(&legacy),
            ..context
        };
        let meant = &meant;
        let result = then(&Scene { context, meant });
        if legacy.used.get() {
            reading.set(LocationReading::LegacyLlvm);
        }
        result
    }

    /// Reads the bits.
    fn fetch(&self, location: PerLane<'p>, bit_size: u64) -> Result<Contents<'p>> {
        let stop = self.frame.stop;
        let max_bits = stop.limits().bits;
        match location {
            PerLane::All(location) if is_undefined(&location) => Ok(Contents::None),
            PerLane::All(location) => {
                let lanes = if location.stands_for_all_lanes() {
                    stop.wave().wave_size().lanes()
                } else {
                    1
                };
                self.keep(bit_size, lanes)?;
                let read = |visits: &mut Visits| {
                    read_lanes_within(&location, bit_size, stop.wave(), max_bits, visits)
                };
                match stop.read_within(read) {
                    Ok(bits) => Ok(Contents::Lanes { bits, location }),
                    // What is wrong in one lane, the end of a register for example, may be right in others.
                    Err(error) if !location.stands_for_all_lanes() || is_limit(&error) => {
                        Err(error)
                    }
                    Err(_) => self.fetch_each(|_| Ok(location), bit_size),
                }
            }
            PerLane::Each(lanes) => {
                let lane_location = |lane: Lane| match lanes.get(usize::from(lane.0)) {
                    Some(location) => location.clone(),
                    None => Ok(Location::UNDEFINED),
                };
                self.keep(bit_size, stop.wave().wave_size().lanes())?;
                self.fetch_each(lane_location, bit_size)
            }
        }
    }

    fn fetch_each(
        &self,
        location: impl Fn(Lane) -> Result<Location<'p>>,
        bit_size: u64,
    ) -> Result<Contents<'p>> {
        let stop = self.frame.stop;
        let each = stop.wave().wave_size().all_lanes().map(|lane| {
            let location = location(lane)?;
            let access = Access {
                wave: stop.wave(),
                lane: Some(lane),
                max_bits: stop.limits().bits,
            };
            let bits =
                stop.read_within(|visits| read_within(&location, bit_size, &access, visits))?;
            Ok((bits, location))
        });
        Ok(Contents::Each(each.collect()))
    }

    /// Pays for the bits of a variable in so many lanes.
    pub(super) fn keep(&self, bit_size: u64, lanes: u32) -> Result<()> {
        let held = (self.held.get()).saturating_add(bit_size.saturating_mul(lanes.into()));
        let limits = self.frame.stop().limits();
        if held > limits.output {
            return Err(limits.reached(Limit::Output));
        }
        self.held.set(held);
        Ok(())
    }
}

fn is_limit(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Limit { .. })
}

pub(super) fn is_undefined(location: &Location<'_>) -> bool {
    location
        .places()
        .iter()
        .all(|place| matches!(place.storage, Storage::Undefined))
}
