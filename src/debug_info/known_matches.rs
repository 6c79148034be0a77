//! Which expressions of location lists hold at addresses that were asked for: waves stop at few, and each asks for the same.

use std::sync::Mutex;

use foldhash::HashMap;

use super::id::UnitId;
use crate::eval::ExpressionBytes;
use crate::sync::lock;

/// A list by its unit and offset, and an address of the code object.
pub(super) type Question = (UnitId, u64, u64);

/// The answers to questions that were asked: the expression that holds, if one does.
#[derive(Debug, Default)]
pub(super) struct KnownMatches<'a> {
    answers: Mutex<HashMap<Question, Option<ExpressionBytes<'a>>>>,
}

impl<'a> KnownMatches<'a> {
    pub(super) fn get(&self, question: &Question) -> Option<Option<ExpressionBytes<'a>>> {
        lock(&self.answers).get(question).copied()
    }

    /// Keeps an answer. There is no end of addresses, so that it starts anew when it has become large.
    pub(super) fn keep(&self, question: Question, answer: Option<ExpressionBytes<'a>>) {
        /// Some hundred kilobytes.
        const MOST: usize = 2048;
        let mut answers = lock(&self.answers);
        if answers.len() >= MOST {
            answers.clear();
        }
        answers.insert(question, answer);
    }
}
