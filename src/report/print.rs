//! `hetdwarf-print/1`: expressions, in every lane.

use serde::Serialize;

use super::number::{Hex, hex_bytes};
use super::vars::{LaneDocument, PER_LINE, VarsFrame};
use crate::arch::Lane;
use crate::display::Options;
use crate::error::Result;
use crate::inspect::StopFrame;
use crate::meter::Meter;
use crate::query::{LaneAnswer, NoValue, Query, QueryError};
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct PrintDocument {
    /// `hetdwarf-print/1`.
    pub format: &'static str,
    /// The frame's program location, in the process.
    pub pc: Hex,
    /// Where that is in the source.
    pub frame: VarsFrame,
    /// The expressions, in the order in which they were asked for.
    pub expressions: Vec<ExpressionDocument>,
}

/// An expression: `ty` and `lanes`, or `error`.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct ExpressionDocument {
    /// What was asked for.
    pub text: Untrusted<'static>,
    /// Its type's name.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub ty: Option<Untrusted<'static>>,
    /// Its value in each lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Vec<LaneDocument>>,
    /// Why it cannot be evaluated in any lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<QueryErrorDocument>,
}

/// What is wrong with an expression.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueryErrorDocument {
    /// The kind's name.
    pub kind: &'static str,
    /// The offset in the text, in bytes.
    pub offset: usize,
    /// What is wrong, for people.
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
    /// Whether there is a value in some lane.
    #[must_use]
    pub fn has_value(&self) -> bool {
        let mut lanes = self.lanes.iter().flatten();
        lanes.any(|lane| lane.value.is_some())
    }
}

impl PrintDocument {
    /// Evaluates expressions in some lanes of a frame. One that cannot be evaluated has an error in its place.
    ///
    /// # Errors
    /// If the debugging information of the frame is malformed; [`Limit::Memory`](crate::error::Limit::Memory) if the answers are longer than
    /// any that a person reads.
    pub fn new(
        frame: &StopFrame<'_, '_, '_>,
        lanes: &[Lane],
        texts: &[String],
        options: &Options,
    ) -> Result<PrintDocument> {
        let meter = frame.stop().meter();
        let count = texts.len().saturating_mul(lanes.len()) as u64;
        meter.begin_question();
        meter.hold(count.saturating_mul(PER_LINE))?;
        let mut query = Query::new(*frame)?;
        let mut writer = Writer {
            lanes,
            options,
            meter,
        };
        let expressions = texts.iter().map(|text| writer.expression(&mut query, text));
        let expressions = expressions.collect::<Result<_>>()?;
        Ok(PrintDocument {
            format: "hetdwarf-print/1",
            pc: Hex::from(frame.call_frame().pc()),
            frame: VarsFrame::new(frame)?,
            expressions,
        })
    }
}

/// Describes expressions.
struct Writer<'w> {
    lanes: &'w [Lane],
    options: &'w Options,
    meter: &'w Meter,
}

impl Writer<'_> {
    fn expression(
        &mut self,
        query: &mut Query<'_, '_, '_>,
        text: &str,
    ) -> Result<ExpressionDocument> {
        self.meter.print(text.len())?;
        let answer = match query.evaluate(text, self.lanes) {
            Ok(answer) => answer,
            Err(error) => {
                let error = Some(QueryErrorDocument::from(&error));
                return Ok(ExpressionDocument {
                    text: text.to_owned().into(),
                    ty: None,
                    lanes: None,
                    error,
                });
            }
        };
        let lanes = answer.lanes.iter().map(|lane| self.lane(query, lane));
        let lanes = lanes.collect::<Result<_>>()?;
        Ok(ExpressionDocument {
            text: text.to_owned().into(),
            ty: Some(answer.type_name.into()),
            lanes: Some(lanes),
            error: None,
        })
    }

    fn lane(&mut self, query: &Query<'_, '_, '_>, answer: &LaneAnswer) -> Result<LaneDocument> {
        let work_item = query.frame().stop().wave().work_item(answer.lane);
        let mut document = LaneDocument::of_state(answer.lane, work_item, answer.state());
        let bits = match &answer.value {
            Ok(bits) => bits,
            // That a lane does not execute is its state.
            Err(NoValue::Inactive) => return Ok(document),
            Err(reason) => {
                document.message = Some(reason.to_string().into());
                return Ok(document);
            }
        };
        if !matches!(document.state, "ok" | "partial") {
            let reason = if bits.unavailable.is_empty() {
                NoValue::OptimizedOut
            } else {
                NoValue::Unavailable
            };
            document.message = Some(reason.to_string().into());
            return Ok(document);
        }
        let (undefined, unavailable) = (bits.undefined.ranges(), bits.unavailable.ranges());
        let ranges = undefined.len().saturating_add(unavailable.len());
        let size = bits.bytes.len().saturating_mul(2);
        let size = size.saturating_add(ranges.saturating_mul(16));
        self.meter.print(size)?;
        document.value = query.text_within(answer, self.options, self.meter);
        let length = document.value.as_ref().map_or(0, |text| text.len());
        self.meter.print(length)?;
        document.bytes = Some(hex_bytes(&bits.bytes));
        document.undefined = undefined.iter().map(|r| [r.start, r.end]).collect();
        document.unavailable = unavailable.iter().map(|r| [r.start, r.end]).collect();
        Ok(document)
    }
}
