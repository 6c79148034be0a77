//! The contents of a handle of values: variables of a frame, an expression, or the parts of a value in a lane.

use core::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use hetdwarf::arch::{Lane, WaveSize};
use hetdwarf::debug_info::LocationEntry;
use hetdwarf::debug_info::types::{TypeId, TypeTable};
use hetdwarf::display::{Options, size_in_bytes};
use hetdwarf::inspect::{LaneTexts, VariableValue};
use hetdwarf::location::Location;
use hetdwarf::query::{Answer as QueryAnswer, LaneAnswer, Query};
use hetdwarf::report::{AbsentLanes, RecoveredDocuments, ValueNote};
use hetdwarf::tree::{Part, Tree};

use super::hetdwarf_value_info;
use super::lane::{LaneValue, of_answer, of_part, of_variable};
use crate::status::{Answer, Fault};
use crate::stop::SharedStop;
use crate::text::{LaneTextStore, NewTexts, Texts};

/// The types of values. Parts share the types of the value that they belong to.
pub(crate) type SharedTypes = Rc<RefCell<TypeTable>>;

pub(super) fn shared(types: TypeTable) -> OnceCell<SharedTypes> {
    Rc::new(RefCell::new(types)).into()
}

/// The source of the values.
pub(super) enum Content {
    Variables {
        values: Vec<VariableValue<'static>>,
        /// Set at the first query.
        in_prologue: OnceCell<bool>,
    },
    Expression {
        text: String,
        answer: QueryAnswer,
        query: Box<Query<'static, 'static, 'static>>,
    },
    Parts {
        parts: Vec<Part<'static>>,
        lane: Lane,
    },
}

/// A value.
#[derive(Clone, Copy)]
pub(super) enum Item<'v> {
    Variable(&'v VariableValue<'static>),
    Expression(&'v str, &'v QueryAnswer),
    Part(&'v Part<'static>, Lane),
}

impl<'v> Item<'v> {
    fn ty(self) -> TypeId {
        match self {
            Item::Variable(value) => value.ty,
            Item::Expression(_, answer) => answer.ty,
            Item::Part(part, _) => part.ty,
        }
    }

    fn name(self) -> &'v str {
        match self {
            Item::Variable(value) => value.variable.name.as_deref().unwrap_or_default(),
            Item::Expression(text, _) => text,
            Item::Part(part, _) => &part.name,
        }
    }

    /// Returns the answer for a lane of an expression.
    pub(super) fn answer(self, lane: Lane) -> Option<&'v LaneAnswer> {
        let Item::Expression(_, answer) = self else {
            return None;
        };
        answer.lanes.iter().find(|answer| answer.lane == lane)
    }
}

/// The contents of a handle of values. They are dropped before the stop, from which they borrow.
pub(crate) struct Values {
    content: Content,
    types: OnceCell<SharedTypes>,
    pub(super) wave_size: WaveSize,
    pub(super) level: usize,
    pub(super) texts: Texts,
    /// The positions of lanes that did not enter the frame, computed on first use.
    absent: OnceCell<AbsentLanes>,
    /// The most recent earlier value: lanes of a variable often share one.
    recovered: RefCell<RecoveredDocuments>,
    /// The text of each queried value in each lane.
    pub(super) lane_texts: RefCell<LaneTextStore>,
    stop: SharedStop,
}

impl Values {
    /// * `types`: the types of the values. Empty for an expression, whose query has them.
    pub(super) fn new(
        content: Content,
        types: OnceCell<SharedTypes>,
        level: usize,
        stop: &SharedStop,
    ) -> Values {
        Values {
            content,
            types,
            wave_size: stop.stop().wave().wave_size(),
            level,
            texts: Texts::default(),
            absent: OnceCell::new(),
            recovered: RefCell::default(),
            lane_texts: RefCell::default(),
            stop: Arc::clone(stop),
        }
    }

    pub(super) fn count(&self) -> usize {
        match &self.content {
            Content::Variables { values, .. } => values.len(),
            Content::Expression { .. } => 1,
            Content::Parts { parts, .. } => parts.len(),
        }
    }

    /// Returns the error for a name that no value has.
    pub(super) fn no_such(&self, wanted: &str) -> Fault {
        let all = (0..self.count()).filter_map(|index| self.name(index).ok());
        let names: Vec<&str> = all.collect();
        let frame = self.stop.stop().frame(self.level);
        let reason = frame.map(|frame| frame.missing_variable(wanted, &names));
        let wanted = hetdwarf::Untrusted::from(wanted);
        Fault::not_found(match reason {
            Some(Ok(reason)) => reason.to_string(),
            Some(Err(_)) | None => format!("there is no variable {wanted}"),
        })
    }

    /// Returns the value with this index.
    pub(super) fn item(&self, index: usize) -> Answer<Item<'_>> {
        let found = match &self.content {
            Content::Variables { values, .. } => values.get(index).map(Item::Variable),
            Content::Expression { text, answer, .. } => {
                (index == 0).then_some(Item::Expression(text, answer))
            }
            Content::Parts { parts, lane } => parts.get(index).map(|part| Item::Part(part, *lane)),
        };
        found.ok_or_else(|| Fault::not_found(format!("there is no value {index}")))
    }

    /// Returns the types of all values.
    pub(crate) fn types(&self) -> &SharedTypes {
        self.types.get_or_init(|| {
            let types = match &self.content {
                Content::Expression { query, .. } => query.types().clone(),
                Content::Variables { .. } | Content::Parts { .. } => TypeTable::default(),
            };
            Rc::new(RefCell::new(types))
        })
    }

    /// Returns the type number of each value.
    pub(crate) fn type_ids(&self) -> Vec<TypeId> {
        let all = (0..self.count()).filter_map(|index| self.item(index).ok());
        all.map(Item::ty).collect()
    }

    pub(super) fn name(&self, index: usize) -> Answer<&str> {
        Ok(self.item(index)?.name())
    }

    /// Returns the location of a value in a lane, if it has one.
    pub(crate) fn location(&self, index: usize, lane: Lane) -> Answer<Option<Location<'static>>> {
        Ok(match self.item(index)? {
            Item::Variable(value) => value.location(lane),
            Item::Part(part, own) if own == lane => {
                // SAFETY: values made from it are dropped with this, before the stop.
                let frame = unsafe { super::lasting(&self.stop, self.level) }?;
                Tree::of_frame(frame)?.place(part)
            }
            Item::Part(..) | Item::Expression(..) => None,
        })
    }

    pub(crate) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Returns the location expressions of a variable. Returns none for an expression or a part.
    pub(crate) fn locations(&self, index: usize) -> Answer<Vec<LocationEntry<'static>>> {
        let Item::Variable(value) = self.item(index)? else {
            return Ok(Vec::new());
        };
        match &value.variable.location {
            Some(location) => Ok(self.stop.stop().program().info().locations(location)?),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn stop(&self) -> &SharedStop {
        &self.stop
    }

    /// Returns the state of a value in a lane. `None` for a lane whose expression was not evaluated, or whose part was not read.
    pub(super) fn lane<'v>(
        &'v self,
        item: Item<'v>,
        lane: Lane,
        with_message: bool,
    ) -> Option<LaneValue<'v>> {
        let mut found = match item {
            Item::Variable(value) => {
                let frame = self.stop.stop().frame(self.level);
                of_variable(value, lane, frame.filter(|_| with_message).as_ref())
            }
            Item::Expression(..) => of_answer(item.answer(lane)?),
            Item::Part(part, own) if own == lane => of_part(part),
            Item::Part(..) => return None,
        };
        if with_message && found.is_absent() {
            let absent = self.absent.get_or_init(|| {
                let lanes: Vec<Lane> = self.wave_size.all_lanes().collect();
                let frame = self.stop.frame(self.level).ok();
                let absent = frame.and_then(|frame| AbsentLanes::find(&frame, &lanes).ok());
                absent.unwrap_or_default()
            });
            found.message = absent.message(lane).map(ToString::to_string);
        }
        if with_message && let Some(recovered) = &found.recovered {
            let mut documents = self.recovered.borrow_mut();
            let since = documents.get(recovered, self.stop.stop());
            found.message = Some(format!("{since}, from {}", since.from.name()));
        }
        Some(found)
    }

    /// Makes the text of a value in a lane. `texts` formats variables.
    pub(super) fn make_text(
        &self,
        item: Item<'_>,
        lane: Lane,
        texts: Option<&mut LaneTexts<'_>>,
        new: &mut NewTexts,
    ) {
        let at = usize::from(lane.0);
        match (item, &self.content) {
            (Item::Variable(_), _) => {
                if let Some(text) = texts.and_then(|texts| texts.text(lane)) {
                    new.add(at, text);
                }
            }
            (Item::Expression(..), Content::Expression { query, .. }) => {
                let answer = item.answer(lane);
                let text = answer.and_then(|answer| query.text(answer, &Options::default()));
                if let Some(text) = text {
                    new.add(at, &text);
                }
            }
            (Item::Part(part, _), _) => {
                if let Some(text) = &part.text {
                    new.add(at, text);
                }
            }
            (Item::Expression(..), _) => {}
        }
    }

    /// Returns a note on a variable that holds for all lanes.
    fn note(&self, value: &VariableValue<'_>) -> Answer<Option<&'static str>> {
        let Content::Variables { in_prologue, .. } = &self.content else {
            return Ok(None);
        };
        let frame = self.stop.frame(self.level)?;
        // If the line table does not mark the prologue, there is no note. The value itself is unaffected.
        if !in_prologue.get_or_init(|| frame.is_in_prologue().unwrap_or(false)) {
            return Ok(None);
        }
        let lanes: Vec<Lane> = self.wave_size.all_lanes().collect();
        let is_written = frame.is_written_by_prologue(value, &lanes);
        Ok(is_written.then_some(ValueNote::Prologue.name()))
    }

    pub(super) fn info(&self, index: usize) -> Answer<hetdwarf_value_info> {
        let texts = &self.texts;
        let item = self.item(index)?;
        let (type_name, kind): (&str, &str) = match item {
            Item::Expression(_, answer) => (&answer.type_name, "expression"),
            Item::Variable(value) => (&value.type_name, value.variable.kind.name()),
            Item::Part(part, _) => (&part.type_name, "part"),
        };
        let value = match item {
            Item::Variable(value) => Some(value),
            Item::Expression(..) | Item::Part(..) => None,
        };
        let note = match (item, value) {
            (Item::Expression(_, answer), _) => {
                answer.is_in_prologue.then_some(ValueNote::Prologue.name())
            }
            (_, Some(value)) => self.note(value)?,
            (_, None) => None,
        };
        let variable = value.map(|value| &value.variable);
        let file = variable.and_then(|variable| variable.declaration.file.as_ref());
        let byte_size = match &self.content {
            Content::Expression { query, .. } => size_in_bytes(query.types(), item.ty()),
            Content::Variables { .. } | Content::Parts { .. } => {
                size_in_bytes(&self.types().borrow(), item.ty())
            }
        };
        let bit_size = match item {
            Item::Part(part, _) => part.bit_field,
            Item::Expression(_, answer) => {
                let mut fields = answer.lanes.iter().map(|lane| lane.bit_field);
                let first = fields.next().flatten();
                first.filter(|_| fields.all(|field| field == first))
            }
            Item::Variable(_) => None,
        };
        Ok(hetdwarf_value_info {
            size: 0,
            name: texts.keep(item.name()),
            kind: texts.keep(kind),
            type_name: texts.keep(type_name),
            byte_size: byte_size.unwrap_or(0),
            scope: texts.keep_if(variable.and_then(|variable| variable.scope.as_deref())),
            file: texts.keep_if(file.map(|file| file.name())),
            line: variable
                .and_then(|variable| variable.declaration.line)
                .unwrap_or(0),
            entry: variable.map_or(u64::MAX, |variable| variable.die.offset),
            reading: texts.keep_if(value.map(|value| value.reading.name())),
            note: texts.keep_if(note),
            r#type: item.ty().0.into(),
            bit_size: bit_size.unwrap_or(0),
            reserved: [0; 2],
        })
    }
}
