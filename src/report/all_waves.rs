//! Collects the answers of all waves of a core to one query. Equal answers form one group.

use std::collections::BTreeMap;

use serde::Serialize;

use super::completeness::Completeness;
use super::to_json;
use crate::untrusted::Untrusted;

/// The document.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct AllWavesDocument<T> {
    /// The format of the documents in the groups.
    pub format: &'static str,
    /// The completeness of the document, whose fields are flattened into it.
    #[serde(flatten)]
    pub completeness: Completeness,
    /// The groups, in the order of their first waves.
    pub groups: Vec<WaveGroup<T>>,
}

impl<T> AllWavesDocument<T> {
    /// Makes the document of some groups.
    ///
    /// * `format`: the format of the documents in the groups.
    #[must_use]
    pub fn new(
        format: &'static str,
        completeness: Completeness,
        groups: Vec<WaveGroup<T>>,
    ) -> AllWavesDocument<T> {
        AllWavesDocument {
            format,
            completeness,
            groups,
        }
    }
}

/// Waves with equal answers: `document`, or `message`.
#[non_exhaustive]
#[derive(Clone, Debug, Serialize)]
pub struct WaveGroup<T> {
    /// The numbers of the waves, from 1.
    pub waves: Vec<usize>,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document: Option<T>,
    /// The reason why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Untrusted<'static>>,
}

/// Collects the groups.
#[derive(Debug)]
pub struct WaveGroups<T> {
    groups: Vec<WaveGroup<T>>,
    /// The index of each group, by the JSON of its answer or by its message.
    known: BTreeMap<String, usize>,
}

impl<T> Default for WaveGroups<T> {
    fn default() -> WaveGroups<T> {
        WaveGroups {
            groups: Vec::new(),
            known: BTreeMap::new(),
        }
    }
}

impl<T: Serialize> WaveGroups<T> {
    /// Adds the answer of a wave, or the reason why it has none.
    ///
    /// # Errors
    /// If the answer cannot be written as JSON, which serves to compare it with the other answers.
    pub fn add(&mut self, wave: usize, answer: Result<T, String>) -> serde_json::Result<()> {
        let key = match &answer {
            Ok(document) => to_json(document)?,
            Err(message) => message.clone(),
        };
        let index = *self.known.entry(key).or_insert(self.groups.len());
        if let Some(group) = self.groups.get_mut(index) {
            group.waves.push(wave);
            return Ok(());
        }
        let (document, message) = match answer {
            Ok(document) => (Some(document), None),
            Err(message) => (None, Some(message.into())),
        };
        self.groups.push(WaveGroup {
            waves: vec![wave],
            document,
            message,
        });
        Ok(())
    }

    /// Returns the groups, in the order of their first waves.
    #[must_use]
    pub fn into_groups(self) -> Vec<WaveGroup<T>> {
        self.groups
    }
}
