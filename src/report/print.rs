//! `hetdwarf-print/1`: the values of expressions in every lane.

use serde::Serialize;

use super::absent::AbsentLanes;
use super::completeness::Completeness;
use super::frame::FrameDocument;
use super::number::{Hex, hex_bytes};
use super::vars::{
    LaneChoice, LaneDocument, PER_LINE, Places, RecoveredDocuments, ValueNote, ValueText, warnings,
};
use crate::arch::Lane;
use crate::display::Options;
use crate::inspect::{StopFrame, ValueStateKind};
use crate::meter::Meter;
use crate::query::{LaneAnswer, Query, QueryError, QueryErrorKind};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct PrintDocument {
    /// `hetdwarf-print/1`.
    pub format: &'static str,
    /// The program location of the frame, as an address of the process.
    pub pc: Hex,
    /// The frame and its place in the source.
    pub frame: FrameDocument,
    /// Set if the lanes wait at this program location because EXEC has switched them off. The answers are then the values at this location.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub waiting: bool,
    /// Problems of the debugging information that do not prevent reading values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Untrusted<'static>>,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The expressions, in the order of the request.
    pub expressions: Vec<ExpressionDocument>,
    /// The answers for selected lanes that wait elsewhere in the frame, by program location.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_lanes: Vec<WaitingAnswers>,
}

/// The answers at a program location at which lanes wait.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct WaitingAnswers {
    /// The program location of the lanes, as an address of the process.
    pub pc: Hex,
    /// The frame and its place in the source.
    pub frame: FrameDocument,
    /// The expressions, in the order of the request.
    pub expressions: Vec<ExpressionDocument>,
}

/// An expression, with either `ty` and `lanes`, or `error`.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ExpressionDocument {
    /// The expression as given.
    pub text: Untrusted<'static>,
    /// The name of its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub ty: Option<Untrusted<'static>>,
    /// A note that holds for all lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<ValueNote>,
    /// The value in each lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Vec<LaneDocument>>,
    /// The reason why it cannot be evaluated in any lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<QueryErrorDocument>,
}

/// A mistake in an expression.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueryErrorDocument {
    /// The name of the kind.
    pub kind: &'static str,
    /// The offset in the text, in bytes.
    pub offset: usize,
    /// The description of the mistake, for people.
    pub message: Untrusted<'static>,
}

impl From<&QueryError> for QueryErrorDocument {
    fn from(error: &QueryError) -> QueryErrorDocument {
        QueryErrorDocument {
            kind: error.kind.name(),
            offset: error.offset,
            message: error.kind.to_string().into(),
        }
    }
}

impl ExpressionDocument {
    /// Returns true if the expression has a value in at least one lane.
    #[must_use]
    pub fn has_value(&self) -> bool {
        let mut lanes = self.lanes.iter().flatten();
        lanes.any(|lane| lane.value.is_some())
    }
}

impl PrintDocument {
    /// Evaluates expressions in lanes of a frame. An expression that cannot be evaluated has an error in its place, even if a limit was the cause.
    /// All expressions together are one query with one meter.
    ///
    /// # Errors
    /// If the debugging information of the frame is malformed.
    pub fn new(
        frame: &StopFrame<'_, '_, '_>,
        lanes: LaneChoice<'_>,
        texts: &[String],
        options: &Options,
    ) -> crate::Result<PrintDocument> {
        frame.stop().reset_meter();
        let meter = frame.stop().meter();
        let places = Places::of(*frame, lanes);
        let mut completeness = Completeness::default();
        let mut found = Vec::new();
        let mut answer = |(frame, lanes): (StopFrame<'_, '_, '_>, Vec<Lane>)| {
            let place = FrameDocument::new(&frame)?;
            let mut query = Query::within(frame)?;
            let mut writer = Writer {
                lanes: &lanes,
                options,
                meter,
                absent: AbsentLanes::find(&frame, &lanes)?,
                recovered: RecoveredDocuments::default(),
                completeness: Completeness::default(),
            };
            let expressions = texts.iter().map(|text| writer.expression(&mut query, text));
            let expressions = expressions.collect();
            for limit in query.limit().into_iter().chain(&meter.refused()) {
                writer.completeness.note(limit);
            }
            if completeness.complete {
                completeness = writer.completeness;
            }
            if found.is_empty() {
                found = warnings(frame.stop().program().info(), query.types());
            }
            let pc = Hex::from(frame.pc());
            Ok::<_, crate::Error>((pc, place, expressions))
        };
        let waiting = places.first.0.is_of_waiting_lanes();
        let (pc, frame, expressions) = answer(places.first)?;
        let mut waiting_lanes = Vec::new();
        for place in places.waiting {
            if meter.refused().is_some() {
                break;
            }
            let (pc, frame, expressions) = answer(place)?;
            waiting_lanes.push(WaitingAnswers {
                pc,
                frame,
                expressions,
            });
        }
        Ok(PrintDocument {
            format: "hetdwarf-print/1",
            pc,
            frame,
            waiting,
            warnings: found,
            completeness,
            expressions,
            waiting_lanes,
        })
    }

    /// Returns the answers at every program location.
    pub fn places(&self) -> impl Iterator<Item = &[ExpressionDocument]> {
        let waiting = self.waiting_lanes.iter();
        core::iter::once(&*self.expressions).chain(waiting.map(|place| &*place.expressions))
    }
}

/// Describes expressions.
struct Writer<'w> {
    lanes: &'w [Lane],
    options: &'w Options,
    meter: &'w Meter,
    absent: AbsentLanes,
    recovered: RecoveredDocuments,
    completeness: Completeness,
}

impl Writer<'_> {
    fn expression(&mut self, query: &mut Query<'_, '_, '_>, text: &str) -> ExpressionDocument {
        let mut document = ExpressionDocument {
            text: text.to_owned().into(),
            ty: None,
            note: None,
            lanes: None,
            error: None,
        };
        if let Err(error) = self.answer(query, text, &mut document) {
            if let QueryErrorKind::DebugInfo(error) = &error.kind {
                self.completeness.note(error);
            }
            document.error = Some(QueryErrorDocument::from(&error));
        }
        document
    }

    fn answer(
        &mut self,
        query: &mut Query<'_, '_, '_>,
        text: &str,
        document: &mut ExpressionDocument,
    ) -> Result<(), QueryError> {
        // All chosen lanes wait elsewhere.
        if self.lanes.is_empty() {
            document.lanes = Some(Vec::new());
            return Ok(());
        }
        let fault = |error| QueryErrorKind::DebugInfo(error).at(0);
        let lines = self.lanes.len() as u64 * PER_LINE;
        (self.meter.charge_text(text.len()))
            .and_then(|()| self.meter.hold(lines))
            .map_err(fault)?;
        let answer = query.evaluate_within(text, self.lanes)?;
        let lanes = answer.lanes.iter().map(|lane| self.lane(query, lane));
        document.lanes = Some(lanes.collect::<crate::Result<_>>().map_err(fault)?);
        document.note = answer.is_in_prologue.then_some(ValueNote::Prologue);
        document.ty = Some(answer.type_name.into());
        Ok(())
    }

    fn lane(
        &mut self,
        query: &Query<'_, '_, '_>,
        answer: &LaneAnswer,
    ) -> crate::Result<LaneDocument> {
        let work_item = query.frame().stop().wave().work_item(answer.lane);
        let mut document = LaneDocument::of_state(answer.lane, work_item, answer.state());
        document.message = if document.state == ValueStateKind::NotInFrame {
            self.absent.message(answer.lane).cloned()
        } else {
            answer.message().map(Untrusted::from)
        };
        let stop = query.frame().stop();
        document.recovered = (answer.recovered()).map(|one| self.recovered.get(one, stop));
        let bits = answer.value.as_ref();
        let Some(bits) = bits.ok().filter(|_| document.is_readable()) else {
            return Ok(document);
        };
        let (undefined, unavailable) = (bits.undefined.ranges(), bits.unavailable.ranges());
        let ranges = undefined.len() + unavailable.len();
        let size = bits.bytes.len() * 2;
        let size = size + ranges * 16;
        self.meter.charge_text(size)?;
        let mut marks = Vec::new();
        let text = query.text_within(answer, self.options, self.meter, Some(&mut marks));
        let length = text.as_ref().map_or(0, String::len);
        self.meter.charge_text(length + size_of_val(&*marks))?;
        document.value = text.map(|text| ValueText::new(text, marks));
        document.bytes = Some(hex_bytes(&bits.bytes));
        document.undefined = undefined.iter().map(|r| [r.start, r.end]).collect();
        document.unavailable = unavailable.iter().map(|r| [r.start, r.end]).collect();
        Ok(document)
    }
}
