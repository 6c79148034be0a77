//! Formats a variable in each lane, and shares the work between lanes.

use super::value::{Contents, VariableValue};
use crate::arch::Lane;
use crate::debug_info::types::TypeTable;
use crate::display::{Dword, Form, Mark, Options, TypedBytes};
use crate::limits::Limits;
use crate::location::LaneBits;
use crate::meter::Meter;

/// The texts of a variable, one after the other: see [`VariableValue::texts`].
///
/// ```
/// use hetdwarf::prelude::*;
/// use hetdwarf::{debug_info::types::TypeTable, display::Options};
/// # let file = std::fs::read("examples/demo/calls-O2.rocm.hsaco").unwrap();
/// # #[cfg(feature = "serde")] {
/// let wave = Snapshot::from_json(&std::fs::read("examples/demo/stop.json").unwrap())?;
/// let object = CodeObject::parse(&file)?;
/// let program = Program::load(&object)?;
/// let (mut types, mut text, display) = (TypeTable::default(), String::new(), Options::default());
///
/// let arena = Arena::new();
/// let stop = Stop::new(&program, &wave, wave.pc(), StopOptions::loaded_at(wave.load_address), &arena);
/// for variable in stop.frame(0).unwrap().variables(&mut types)? {
///     let mut texts = variable.texts(&types, &display, &mut text);
///     for lane in wave.wave_size().all_lanes() {
///         let shown = texts.text(lane).map(str::to_owned);
///         assert_eq!(shown, variable.text(lane, &types, &display));
///     }
/// }
/// # }
/// # Ok::<(), hetdwarf::Error>(())
/// ```
#[derive(Debug)]
pub struct LaneTexts<'t> {
    value: &'t VariableValue<'t>,
    /// The bits of all lanes, if none is missing and all lanes have the same type, as for nearly every variable.
    complete: Option<&'t LaneBits>,
    quick: Quick<'t>,
    form: Form<'t>,
    types: &'t TypeTable,
    options: &'t Options,
    text: &'t mut String,
    /// The bytes for which `text` was formatted, if it depends only on them.
    last: Option<&'t [u8]>,
    /// The places at which `text` can be broken into lines, if requested.
    marks: Option<Vec<Mark>>,
}

/// The form of most texts, for which lanes need no separate query.
#[derive(Debug)]
enum Quick<'t> {
    /// Another form.
    No,
    /// There are no bits.
    Nothing,
    /// Each lane has an integer of 4 bytes. The field is the integer of the current text.
    Dwords(&'t [[u8; 4]], Dword, Option<[u8; 4]>),
    /// All lanes have the same text, once formatted. The field is the number of lanes.
    Same(usize),
}

impl<'t> LaneTexts<'t> {
    pub(super) fn new(
        value: &'t VariableValue<'t>,
        types: &'t TypeTable,
        options: &'t Options,
        text: &'t mut String,
    ) -> LaneTexts<'t> {
        let complete = match &value.contents {
            Contents::Lanes { bits, .. } if value.lane_types().is_none() => Some(bits),
            Contents::Lanes { .. }
            | Contents::None
            | Contents::Constant(_)
            | Contents::Each(_)
            | Contents::Failed(_) => None,
        };
        let complete = complete.filter(|bits| bits.is_complete());
        let form = Form::new(types, value.ty, options);
        let dwords = complete.and_then(|bits| bits.dwords().zip(form.of_dwords()));
        let quick = match (&value.contents, dwords) {
            (_, Some((dwords, form))) => Quick::Dwords(dwords, form, None),
            (Contents::None | Contents::Failed(_), _) => Quick::Nothing,
            _ => Quick::No,
        };
        LaneTexts {
            value,
            complete,
            quick,
            form,
            types,
            options,
            text,
            last: None,
            marks: None,
        }
    }

    /// Returns the value in a lane in C debugger syntax, whether or not the lane executes, or `None` if there are no bits.
    #[inline]
    pub fn text(&mut self, lane: Lane) -> Option<&str> {
        let lane_number = usize::from(lane.0);
        match &mut self.quick {
            Quick::Nothing => return None,
            Quick::Dwords(dwords, form, last) => {
                if let Some(dword) = dwords.get(lane_number) {
                    if *last != Some(*dword) {
                        (*last, self.last) = (Some(*dword), None);
                        form.print(*dword, self.text);
                    }
                    return Some(self.text);
                }
            }
            Quick::Same(lanes) if lane_number < *lanes => return Some(self.text),
            Quick::Same(_) | Quick::No => {}
        }
        self.print(lane, None).then_some(self.text.as_str())
    }

    /// Formats the value as part of a query, with the places where the text can be broken into lines.
    #[cfg(feature = "serde")]
    pub(crate) fn marked(&mut self, lane: Lane, meter: &Meter) -> Option<(&str, &[Mark])> {
        self.marks.get_or_insert_default();
        let is_there = self.print(lane, Some(meter));
        is_there.then_some((&*self.text, self.marks.as_deref().unwrap_or_default()))
    }

    /// Sets the text to a lane's. Returns false if it has none. Without a meter it is a separate query.
    pub(super) fn print(&mut self, lane: Lane, meter: Option<&Meter>) -> bool {
        match self.complete {
            Some(bits) => {
                let bytes = bits.bytes(lane);
                self.quick = match (&self.quick, bits.same_lanes()) {
                    // The text may change now.
                    (Quick::Dwords(dwords, form, _), _) => Quick::Dwords(dwords, *form, None),
                    (_, Some(lanes)) if usize::from(lane.0) < lanes => Quick::Same(lanes),
                    _ => Quick::No,
                };
                // Storage that is the same for all lanes is stored once.
                let is_last = |last: &[u8]| core::ptr::eq(last, bytes) || last == bytes;
                if !self.last.is_some_and(is_last) {
                    self.print_anew(&TypedBytes::known(bytes), lane, meter);
                    self.last = Some(bytes);
                }
                true
            }
            None => self.print_any(lane, meter),
        }
    }

    fn print_any(&mut self, lane: Lane, meter: Option<&Meter>) -> bool {
        let value: &'t VariableValue<'t> = self.value;
        let Some(bits) = value.contents.lent(lane) else {
            return false;
        };
        let is_complete = bits.undefined.is_empty() && bits.unavailable.is_empty();
        let alone = (is_complete && value.lane_types().is_none()).then_some(bits.bytes);
        if alone.is_none() || alone != self.last {
            self.print_anew(&bits, lane, meter);
            self.last = alone;
        }
        true
    }

    fn print_anew(&mut self, bits: &TypedBytes<'t>, lane: Lane, meter: Option<&Meter>) {
        self.text.clear();
        if let Some(marks) = &mut self.marks {
            marks.clear();
        }
        let ty = self.value.type_in(lane);
        if ty != self.form.id() {
            self.form = Form::new(self.types, ty, self.options);
        }
        let pointees = self.value.pointees(lane);
        let own = || Meter::new(&Limits::DEFAULT, Limits::DEFAULT.value);
        let own = meter.is_none().then(own);
        if let Some(meter) = meter.or(own.as_ref()) {
            let marks = self.marks.as_mut();
            self.form.print(bits, pointees, meter, self.text, marks);
        }
    }
}
