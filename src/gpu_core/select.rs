//! Selects a wave by a text.

use core::str::FromStr;

use super::{CoreWave, GpuCore, StopReason};
use crate::error::{Error, ErrorKind, Result};

/// The choice of a wave in a core.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaveSelector {
    /// The first wave that faulted, or else the first one that stopped.
    #[default]
    Stopped,
    /// The wave with this number, from 1.
    Index(usize),
    /// The wave at a place of a dispatch.
    ProblemPlace {
        /// The driver's number of the queue.
        queue_id: u32,
        /// The id of the packet.
        packet_id: u64,
        /// The workgroup, in each dimension.
        workgroup: [u32; 3],
        /// The wave's number in it.
        wave_in_group: u32,
    },
}

/// Parses a number from 1, `QUEUE:PACKET:(x,y,z)/w` or `stopped`.
///
/// Errors: [`ErrorKind::Syntax`] if it is none of these.
impl FromStr for WaveSelector {
    type Err = Error;

    fn from_str(text: &str) -> Result<WaveSelector> {
        if text == "stopped" {
            return Ok(WaveSelector::Stopped);
        }
        let index = || text.parse().ok().filter(|&index| index != 0);
        index()
            .map(WaveSelector::Index)
            .or_else(|| place(text))
            .ok_or_else(|| {
                Error::new(ErrorKind::Syntax {
                    expected: "the number of a wave, QUEUE:PACKET:(x,y,z)/w, or `stopped`".into(),
                    found: format!("`{text}`"),
                })
            })
    }
}

fn place(text: &str) -> Option<WaveSelector> {
    let (queue, rest) = text.split_once(':')?;
    let (packet, rest) = rest.split_once(":(")?;
    let (workgroup, wave) = rest.split_once(")/")?;
    let mut parts = workgroup.split(',').map(str::parse);
    let workgroup = [
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    ];
    parts
        .next()
        .is_none()
        .then_some(WaveSelector::ProblemPlace {
            queue_id: queue.parse().ok()?,
            packet_id: packet.parse().ok()?,
            workgroup,
            wave_in_group: wave.parse().ok()?,
        })
}

/// The maximum number of candidates listed in an error.
const LISTED: usize = 10;

impl<'data> GpuCore<'data> {
    /// Returns the selected wave.
    ///
    /// # Errors
    /// [`ErrorKind::Selection`] if there is none. The error lists some candidates.
    pub fn select(&self, selector: WaveSelector) -> Result<CoreWave<'_, 'data>> {
        let found = match selector {
            WaveSelector::Stopped => {
                let faulted =
                    |wave: &CoreWave<'_, '_>| wave.stops().iter().any(StopReason::is_fault);
                let stopped = |wave: &CoreWave<'_, '_>| wave.state() == super::WaveState::Stopped;
                let first = self.waves().find(faulted);
                first.or_else(|| self.waves().find(stopped))
            }
            WaveSelector::Index(index) => index.checked_sub(1).and_then(|index| self.wave(index)),
            WaveSelector::ProblemPlace {
                queue_id,
                packet_id,
                workgroup,
                wave_in_group,
            } => self.waves().find(|wave| {
                let queue = wave.queue().map(|queue| queue.entry.queue_id);
                queue == Some(queue_id)
                    && wave.packet_id() == Some(packet_id)
                    && wave.workgroup() == Some(workgroup)
                    && wave.wave_in_group() == Some(wave_in_group)
            }),
        };
        found.ok_or_else(|| {
            let wanted = match selector {
                WaveSelector::Stopped => "no wave stopped",
                WaveSelector::Index(_) | WaveSelector::ProblemPlace { .. } => {
                    "there is no such wave"
                }
            };
            Error::new(ErrorKind::Selection {
                wanted: wanted.into(),
                candidates: self.waves().take(LISTED).map(|wave| wave.title()).collect(),
            })
        })
    }
}

impl CoreWave<'_, '_> {
    /// Formats number and place for an error. The place has the syntax of a selector.
    fn title(&self) -> String {
        let index = self.index().saturating_add(1);
        let queue_id = self.queue().map_or(0, |queue| queue.entry.queue_id);
        match (self.packet_id(), self.workgroup(), self.wave_in_group()) {
            (Some(packet), Some([x, y, z]), Some(wave)) => {
                format!("{index} ({queue_id}:{packet}:({x},{y},{z})/{wave})")
            }
            _ => index.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_choose_by_number_place_or_fault() {
        let place = |queue_id, packet_id, workgroup, wave_in_group| WaveSelector::ProblemPlace {
            queue_id,
            packet_id,
            workgroup,
            wave_in_group,
        };
        let cases = [
            ("stopped", Some(WaveSelector::Stopped)),
            ("1", Some(WaveSelector::Index(1))),
            ("1:382:(0,1,2)/3", Some(place(1, 382, [0, 1, 2], 3))),
            ("0", None),
            ("-1", None),
            ("", None),
            ("1:382", None),
            ("1:382:(0,1)/3", None),
            ("1:382:(0,1,2,3)/3", None),
            ("1:382:(0,1,2)", None),
            ("running", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<WaveSelector>().ok(), expected, "{text}");
        }
    }
}
