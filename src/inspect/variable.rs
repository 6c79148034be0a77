//! Finds, locates and reads the variables of a frame.

use core::cell::OnceCell;
use std::sync::Arc;

use super::context::{FrameContext, VariableContext};
use super::layout::{LaneTypes, is_class, is_open_array, is_truth_value, is_vector_of_bytes};
use super::legacy::{LegacyReader, Meanings};
use super::plan::{FramePlan, KeptPlans, Listed, PlannedVariable, Plans};
use super::stop::StopFrame;
use super::value::{Contents, LocationReading, NotUnderstood, Rare, VariableValue};
use crate::arch::Lane;
use crate::debug_info::types::{TypeId, TypeTable};
use crate::debug_info::{DebugInfo, Function, InScope, Variable};
use crate::error::{Ambiguity, Error, ErrorKind, Result};
use crate::eval::{
    Doubt, LocationAttribute, LocationGap, MOST_FROM_ONE_DWORD, ObjectShape, PerLane, Reading,
    Unit, locate_lanes,
};
use crate::limits::{Limit, Limits};
use crate::location::{Bits, Composite, Location, Place, Storage, read, read_lanes};
use crate::meter::Meter;

impl<'p, 'a> StopFrame<'_, 'p, 'a> {
    /// Reads the variables of the frame in every lane, innermost scope first. `types` receives their types. The frame of the function ends with the
    /// variables of file scope. An inlined call has only its own. A frame of [`Stop::call_frames`](super::Stop::call_frames) includes the variables
    /// of all inlined calls.
    ///
    /// An unreadable variable has the error in its value, and does not affect the others. If a limit is reached, the variables found before are
    /// returned, and [`Meter::refused`] of the stop's [`meter`](super::Stop::meter) has the limit.
    ///
    /// # Errors
    /// If the entries of the function are malformed.
    pub fn variables(&self, types: &mut TypeTable) -> Result<Vec<VariableValue<'p>>> {
        self.stop.reset_meter();
        Ok(self.variables_and_limit(types)?.0)
    }

    /// Reads [`variables`](StopFrame::variables) as part of another query. Also returns the limit reached before all were read.
    pub(crate) fn variables_and_limit(
        &self,
        types: &mut TypeTable,
    ) -> Result<(Vec<VariableValue<'p>>, Option<Error>)> {
        let Some((plan, mut limit)) = self.plan()? else {
            return Ok((Vec::new(), None));
        };
        let meter = self.stop.meter();
        let reader = Reader::new(*self, &plan.function);
        let last = self.depth_of_call()?;
        let mut values = Vec::with_capacity(plan.variables.len());
        for (index, variable) in plan.variables.iter().enumerate() {
            let depth = plan.depth_of(index).min(last);
            if !self.has_depth(depth) {
                continue;
            }
            let paid = meter.work(1);
            if let Err(error) = paid.and_then(|()| meter.hold_all::<VariableValue<'_>>(1)) {
                limit = limit.or(Some(error));
                break;
            }
            let value = reader.read(variable, types);
            values.push(VariableValue { depth, ..value });
        }
        Ok((values, limit))
    }

    /// Returns the function, the variables visible by name in this frame, innermost scope first and file scope last, and the limit reached before all
    /// were found. Returns `None` if there is no function.
    pub(crate) fn visible(&self) -> Result<Option<Visible<'a>>> {
        let Some((plan, limit)) = self.plan()? else {
            return Ok(None);
        };
        let paid = self.stop.meter().work(plan.variables.len() as u64);
        let limit = limit.or(paid.err());
        let last = self.depth_of_call()?;
        let variables = plan.variables.iter().enumerate();
        let is_visible = |(index, planned): &(usize, &PlannedVariable<'a>)| {
            planned.variable.scope_die.is_none() || self.has_depth(plan.depth_of(*index).min(last))
        };
        let visible = variables.filter(is_visible);
        let visible = visible.map(|(_, planned)| Arc::clone(&planned.variable));
        Ok(Some(Visible {
            function: Arc::clone(&plan.function),
            variables: visible.collect(),
            limit,
        }))
    }

    /// Returns the function and its variables here, and the limit reached before all were found. Returns `None` if there is no function.
    pub(super) fn plan(&self) -> Result<Option<(Arc<FramePlan<'a>>, Option<Error>)>> {
        if let Some(plan) = self.shared_plan()? {
            return Ok(Some((plan, None)));
        }
        let Some(function) = self.function()? else {
            return Ok(None);
        };
        let (info, address) = (self.stop.program().info(), self.lookup_address());
        let mut in_scope = InScope::default();
        let meter = self.stop.meter();
        let limit = match info.walked_variables(function.die, address, meter, &mut in_scope) {
            Err(error) if !error.is_limit() => return Err(error),
            found => found.err(),
        };
        Ok(Some((Arc::new(FramePlan::new(function, in_scope)), limit)))
    }

    /// Returns the function and its variables here, which all queries share. Returns `None` if there is no function, or it has too many
    /// variables.
    pub(super) fn shared_plan(&self) -> Result<Option<Arc<FramePlan<'a>>>> {
        let program = self.stop.program();
        let (info, address) = (program.info(), self.lookup_address());
        if let Some(plan) = program.plans().get(address) {
            return Ok(Some(plan));
        }
        let Some(function) = self.function()? else {
            return Ok(None);
        };
        let known = info.known_variables(function.die, address);
        let in_scope = known.filter(Plans::may_keep);
        let plan = in_scope.map(|in_scope| FramePlan::new(function, in_scope));
        Ok(plan.map(|plan| program.plans().keep(address, plan)))
    }

    /// Reads one variable of `function`, the frame's function, or a variable of file scope of any unit.
    pub(crate) fn read_variable(
        &self,
        variable: Arc<Variable<'a>>,
        function: &Function<'a>,
        types: &mut TypeTable,
    ) -> VariableValue<'p> {
        Reader::new(*self, function).read(&PlannedVariable::new(variable), types)
    }
}

/// The entities that names in a frame can refer to.
#[derive(Debug)]
pub(crate) struct Visible<'a> {
    pub(crate) function: Arc<Function<'a>>,
    pub(crate) variables: Vec<Arc<Variable<'a>>>,
    pub(crate) limit: Option<Error>,
}

pub(super) struct Reader<'r, 's, 'p, 'a> {
    pub(super) frame: StopFrame<'s, 'p, 'a>,
    pub(super) function: &'r Function<'a>,
    pub(super) exec: Option<u64>,
    /// The context for expressions of the function's unit, computed on first use.
    context: OnceCell<Result<FrameContext<'s, 'p, 'a>>>,
    /// The values of variables that registers and the stack keep, computed on first use.
    pub(super) kept: OnceCell<Option<KeptPlans<'a>>>,
}

/// Facts found while reading a variable's contents.
struct Found {
    reading: LocationReading,
    lane_types: LaneTypes,
    doubts: Vec<Doubt>,
    gap: Option<LocationGap>,
}

impl<'r, 's, 'p, 'a> Reader<'r, 's, 'p, 'a> {
    fn new(frame: StopFrame<'s, 'p, 'a>, function: &'r Function<'a>) -> Reader<'r, 's, 'p, 'a> {
        Reader {
            exec: frame.exec(),
            frame,
            function,
            context: OnceCell::new(),
            kept: OnceCell::new(),
        }
    }

    fn read(&self, planned: &PlannedVariable<'a>, types: &mut TypeTable) -> VariableValue<'p> {
        let variable = &planned.variable;
        let info = self.frame.stop.program().info();
        let ty = info.read_type(types, variable.ty, self.frame.stop.meter());
        let ty = ty.map(|ty| match variable.big_endian {
            true => types.add_big_endian(ty),
            false => ty,
        });
        let (ty, type_problem) = match ty {
            Ok(ty) => (ty, None),
            Err(error) => (types.void(), Some(error)),
        };
        let mut found = Found {
            reading: LocationReading::Dwarf,
            lane_types: LaneTypes::default(),
            doubts: Vec::new(),
            gap: None,
        };
        let contents = match (type_problem, &variable.problem) {
            (Some(error), _) => Contents::Failed(error),
            (None, Some(error)) if variable.location.is_none() => Contents::Failed(error.clone()),
            (None, _) => match self.contents(planned, ty, types, &mut found) {
                Ok(contents) => contents,
                Err(error) if self.is_lost(&error) => Contents::None,
                Err(error) => Contents::Failed(error),
            },
        };
        let is_lost = matches!(contents, Contents::None) && found.doubts.is_empty();
        let (contents, recovered) = match is_lost {
            true => self.recover(planned, ty, types),
            false => (contents, None),
        };
        let type_name = types.name_of(found.lane_types.common().unwrap_or(ty));
        let full = types.get(ty).byte_size.unwrap_or(0).saturating_mul(8);
        let rare = Rare {
            doubts: found.doubts,
            lane_types: found.lane_types,
            not_understood: NotUnderstood::of_variable(variable, ty, types),
            cut: cut_text(self.frame.stop.limits(), full),
            gap: found.gap.filter(|_| recovered.is_none()),
            recovered,
        };
        VariableValue {
            variable: Arc::clone(variable),
            ty,
            type_name,
            reading: found.reading,
            contents,
            depth: 0,
            lanes: self.frame.lane_gate(),
            rare: rare.kept(),
        }
    }

    fn contents(
        &self,
        planned: &PlannedVariable<'a>,
        ty: TypeId,
        types: &mut TypeTable,
        found: &mut Found,
    ) -> Result<Contents<'p>> {
        let variable = &*planned.variable;
        let elsewhere;
        let frame_context = match variable.die.unit {
            unit if unit == self.function.die.unit => {
                let context = || self.frame.context_of(self.function, unit);
                let context = self.context.get_or_init(context);
                context.as_ref().map_err(Error::clone)?
            }
            unit => {
                elsewhere = self.frame.context_of(self.function, unit)?;
                &elsewhere
            }
        };
        let reader = &frame_context.reader;
        if reader.legacy().is_some() {
            found.reading = LocationReading::LegacyLlvm;
        }
        let Some(attribute) = variable.location else {
            return constant(variable, ty, types);
        };
        if variable.ty.is_none() {
            return Err(Error::malformed("variable", "it has no type"));
        }
        let bit_size = size_read(types, ty);
        let within = &frame_context.of_variables();
        let expression = match attribute {
            LocationAttribute::Expression(expression) => Some(expression),
            LocationAttribute::List { unit, offset } => {
                match self.listed(unit, offset, planned, within)? {
                    Listed::Nothing(gap) => {
                        found.gap = Some(gap);
                        return Ok(Contents::None);
                    }
                    Listed::One(expression) => Some(expression),
                    Listed::Several => None,
                }
            }
        };
        if let Some(expression) = &expression {
            reader.check(expression)?;
        }
        if let (Some(legacy), None, Some(expression)) = (within.legacy, bit_size, &expression) {
            legacy.check_memory(expression)?;
        }
        let contents = if let (Some(legacy), Some(bits), Some(expression)) =
            (within.legacy, bit_size, expression)
        {
            let object = self.shape_of(planned, ty, bits, types, legacy)?;
            let truth = match is_truth_value(types, ty) {
                true => {
                    legacy.truth_meaning(&expression, self.frame.call_frame().code_address())?
                }
                false => None,
            };
            let meanings = match truth {
                Some(meanings) => meanings,
                None => legacy.planned_meaning(&expression, object, planned)?,
            };
            self.fetch_meant(meanings, object, within, found)?
        } else {
            let attribute = match (within.legacy, expression) {
                (None, Some(expression)) => LocationAttribute::Expression(expression),
                (Some(_), _) | (None, None) => within.rewrite_legacy(attribute)?,
            };
            let locations = locate_lanes(&attribute, &within.context)?;
            match (bit_size, &locations) {
                (Some(bit_size), _) => self.fetch(locations, bit_size)?,
                (None, PerLane::All(location)) if is_undefined(location) => Contents::None,
                (None, _) => self.fetch_laid_out(
                    ty,
                    &attribute,
                    frame_context,
                    types,
                    &mut found.lane_types,
                )?,
            }
        };
        self.follow_pointers(&contents, ty, frame_context, types, &mut found.lane_types);
        Ok(contents)
    }

    /// Returns the shape of an object whose location is read by the producer's conventions.
    fn shape_of(
        &self,
        planned: &PlannedVariable<'a>,
        ty: TypeId,
        bits: u64,
        types: &TypeTable,
        legacy: &LegacyReader<'p, 'a>,
    ) -> Result<ObjectShape> {
        let address = self.frame.lookup_address();
        let is_class = is_class(types, ty);
        Ok(ObjectShape {
            bits,
            byte_elements: is_vector_of_bytes(types, ty),
            slot_pointer: legacy.slot_pointer(
                &planned.variable,
                self.function,
                is_class,
                address,
            )?,
        })
    }

    /// Returns the entry of a unit's location list that holds here. A list is searched only once.
    fn listed(
        &self,
        unit: Unit,
        offset: u64,
        planned: &PlannedVariable<'a>,
        within: &VariableContext<'_, 'p, 'a>,
    ) -> Result<Listed<'a>> {
        let stop = self.frame.stop;
        if let Some(known) = planned.listed.get() {
            stop.meter().work(1)?;
            return Ok(*known);
        }
        let info: &'p DebugInfo<'a> = stop.program().info();
        let pc = within.context.pc.unwrap_or(0);
        let matching = info.matching_at(unit, offset, pc, stop.meter())?;
        let gap = matching.gap();
        let listed = match *matching.into_expressions() {
            [] => Listed::Nothing(gap),
            [expression] => Listed::One(expression),
            [..] => Listed::Several,
        };
        Ok(*planned.listed.get_or_init(|| listed))
    }

    /// Reads the bits of an object in every reading of its location. Bits on which the readings disagree are unknown.
    fn fetch_meant(
        &self,
        meanings: Meanings<'p>,
        object: ObjectShape,
        within: &VariableContext<'_, 'p, 'a>,
        found: &mut Found,
    ) -> Result<Contents<'p>> {
        found.doubts = meanings.doubts;
        let mut contents: Option<Contents<'p>> = None;
        for reading in meanings.readings {
            let attribute = LocationAttribute::Expression(reading);
            let read = locate_lanes(&attribute, &within.context)
                .and_then(|locations| self.fetch(locations, object.bits))?;
            contents = Some(match contents {
                Some(contents) => self.agreed(contents, &read),
                None => read,
            });
        }
        Ok(contents.unwrap_or(Contents::None))
    }

    /// Returns the contents on which two readings agree, lane by lane.
    fn agreed(&self, one: Contents<'p>, other: &Contents<'p>) -> Contents<'p> {
        let lanes = self.frame.wave_size();
        let same = |lane: Lane| one.bits(lane) == other.bits(lane);
        if lanes.all_lanes().all(same) {
            return one;
        }
        let each = lanes.all_lanes().map(|lane| {
            if !same(lane) {
                return Err(Ambiguity::Reading.into());
            }
            let bits = one.bits(lane)?.unwrap_or_default();
            Ok((bits, one.location(lane).unwrap_or(Location::UNDEFINED)))
        });
        Contents::Each(each.collect())
    }

    /// Reads the bits of an object of `full` bits, within [`Limit::Value`]. Bits beyond that are unavailable.
    pub(super) fn fetch(&self, location: PerLane<'p>, full: u64) -> Result<Contents<'p>> {
        let stop = self.frame.stop;
        let bit_size = bits_within(stop.limits(), full);
        match location {
            PerLane::All(location) if is_undefined(&location) => Ok(Contents::None),
            PerLane::All(location) => {
                let lanes = if location.stands_for_all_lanes() {
                    stop.wave().wave_size().lanes()
                } else {
                    1
                };
                self.keep(bit_size, lanes)?;
                let location = self.bounded(location, bit_size, None)?;
                match read_lanes(&location, bit_size, &stop.access(None)) {
                    Ok(mut bits) => {
                        bits.extend_unavailable(full);
                        Ok(Contents::Lanes { bits, location })
                    }
                    // An error in one lane, such as the end of a register, need not occur in others.
                    Err(error) if !location.stands_for_all_lanes() || error.is_limit() => {
                        Err(error)
                    }
                    Err(_) => self.fetch_each(|_| Ok(location), full),
                }
            }
            PerLane::Each(lanes) => {
                let lane_location = |lane: Lane| match lanes.get(usize::from(lane.0)) {
                    Some(location) => location.clone(),
                    None => Ok(Location::UNDEFINED),
                };
                self.keep(bit_size, stop.wave().wave_size().lanes())?;
                self.fetch_each(lane_location, full)
            }
        }
    }

    fn fetch_each(
        &self,
        location: impl Fn(Lane) -> Result<Location<'p>>,
        full: u64,
    ) -> Result<Contents<'p>> {
        let stop = self.frame.stop;
        let bit_size = bits_within(stop.limits(), full);
        let each = stop.wave().wave_size().all_lanes().map(|lane| {
            let location = match location(lane) {
                Ok(location) => self.bounded(location, bit_size, Some(lane))?,
                Err(error) if self.is_lost(&error) => Location::UNDEFINED,
                Err(error) => return Err(error),
            };
            let mut bits = read(&location, bit_size, &stop.access(Some(lane)))?;
            bits.extend_unavailable(full);
            Ok((bits, location))
        });
        Ok(Contents::Each(each.collect()))
    }

    /// Returns true if a location depends on a value that was optimized away, such as an entry value that no caller kept. The object is then
    /// optimized away too. Read strictly, it is an error.
    fn is_lost(&self, error: &Error) -> bool {
        let tolerant = self.frame.stop.options().reading == Reading::Tolerant;
        tolerant && *error.kind() == ErrorKind::UndefinedRead
    }

    /// Extends a location to an object of this many bits, with undefined bits if the location is smaller than the object. Read strictly, such a
    /// location is an error.
    ///
    /// * `lane`: the lane of the location, if it is for a single lane.
    ///
    /// # Errors
    /// [`Ambiguity::PartOfObject`] if the location is a lane's dword of one register for a large object, any part of which it may hold.
    pub(super) fn bounded(
        &self,
        location: Location<'p>,
        bit_size: u64,
        lane: Option<Lane>,
    ) -> Result<Location<'p>> {
        let stop = self.frame.stop;
        let place = match (stop.options().reading, location.single()) {
            (Reading::Tolerant, Some(place)) => place,
            (Reading::Tolerant, None) | (Reading::Strict, _) => return Ok(location),
        };
        let dword = is_lane_dword(place, lane);
        let named = if dword {
            DWORD - place.bit_offset % DWORD
        } else {
            place.bits_left()
        };
        let bit_size = u128::from(bit_size);
        if named >= bit_size {
            return Ok(location);
        }
        if dword && bit_size > MOST_FROM_ONE_DWORD.into() {
            return Err(Ambiguity::PartOfObject.into());
        }
        let arena = stop.arena();
        let composite = Composite::with_undefined_end(location, named, bit_size, arena);
        let storage = Storage::Composite(arena.composites.alloc(composite));
        Ok(Location::One(Place::new(storage, 0)))
    }

    /// Charges for the bits of a variable in this many lanes.
    pub(super) fn keep(&self, bit_size: u64, lanes: u32) -> Result<()> {
        let bits = bit_size.saturating_mul(lanes.into());
        pay_for_bits(bits, self.frame.stop().meter())
    }
}

/// Charges for bits. Callers will format them, which takes longer than reading.
pub(super) fn pay_for_bits(bits: u64, meter: &Meter) -> Result<()> {
    meter.work(bits.div_ceil(16))?;
    meter.hold(bits.div_ceil(8))
}

/// Returns the size of a value of a type in bits, or `None` if that is known only at run time.
pub(super) fn size_read(types: &mut TypeTable, ty: TypeId) -> Option<u64> {
    // An array without bounds has a location, but an unknown size.
    if is_open_array(types, ty) {
        return Some(0);
    }
    let is_fixed = types.unit_of_computed(ty).is_none();
    let size = types.get(ty).byte_size.filter(|_| is_fixed)?;
    Some(size.saturating_mul(8))
}

/// Returns the number of bits to read from a value of this size, within [`Limit::Value`].
pub(crate) fn bits_within(limits: &Limits, bit_size: u64) -> u64 {
    bit_size.min(limits.value.saturating_mul(8))
}

/// Returns the reason why a value of this many bits is not read as a whole, or `None` if it is.
pub(crate) fn cut_text(limits: &Limits, bit_size: u64) -> Option<String> {
    let (bytes, most) = (bit_size.div_ceil(8), limits.value);
    let is_cut = bits_within(limits, bit_size) < bit_size;
    is_cut.then(|| {
        format!(
            "only {most} of its {bytes} bytes are read: `{}` is the limit",
            Limit::Value.name()
        )
    })
}

/// The part of a vector register that belongs to a lane, in bits.
const DWORD: u128 = 32;

/// Returns true if a place is in a lane's dword of a vector register. The bits after it belong to another lane.
fn is_lane_dword(place: &Place<'_>, lane: Option<Lane>) -> bool {
    let Storage::Register(register) = place.storage else {
        return false;
    };
    let of_lane = |lane: Lane| place.bit_offset / DWORD == u128::from(lane.0);
    register.is_vector() && (place.lane_step != 0 || lane.is_some_and(of_lane))
}

pub(super) fn is_undefined(location: &Location<'_>) -> bool {
    location
        .places()
        .iter()
        .all(|place| matches!(place.storage, Storage::Undefined))
}

/// Returns the value of a variable without a location.
fn constant<'p>(variable: &Variable<'_>, ty: TypeId, types: &TypeTable) -> Result<Contents<'p>> {
    let Some(value) = &variable.const_value else {
        return Ok(Contents::None);
    };
    if !types.is_in_order(ty) {
        // DWARF leaves open if the constant is the number or its bytes.
        return Err(ErrorKind::Unsupported("DW_AT_const_value").into());
    }
    Ok(Contents::Constant(Bits {
        bytes: value.clone(),
        bit_size: value.len() as u64 * 8,
        ..Bits::default()
    }))
}
