//! Makes additions to entries: new attributes, or another location list.

use gimli::constants as dw;

use super::super::references::fixed;
use super::super::shift::Edit;
use super::{Addition, Patch, PatchedSection, Refused, Walk, pay_for_patches};
use crate::debug_info::attribute::Extension;
use crate::expr::write_uleb;
use crate::lane_pc::attribute_code;

/// The change of an abbreviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AbbreviationChange {
    /// Adds the attributes about lanes, with or without the list of active lanes.
    Lanes { has_active_lane: bool },
    /// Replaces the location by an offset in the section of lists, instead of an index.
    LocationOffset,
}

impl Walk<'_, '_, '_> {
    /// Adds attributes to an entry. The offsets are the start of the entry, the end of its abbreviation code, and the end of the entry.
    pub(super) fn add(
        &mut self,
        abbreviation: &gimli::Abbreviation,
        [at, after_code, end]: [usize; 3],
    ) {
        let Some(Addition::Lanes {
            lane_pc,
            active_lane,
        }) = self.additions.get(&at)
        else {
            return;
        };
        let change = AbbreviationChange::Lanes {
            has_active_lane: active_lane.is_some(),
        };
        self.change_code(abbreviation, change, at, after_code);
        let mut bytes = Vec::new();
        bytes.extend(u8::try_from(self.source.wave_size.lanes()));
        for list in [Some(*lane_pc), *active_lane].into_iter().flatten() {
            let size = bytes.len().saturating_add(self.offset_size);
            bytes.extend((list as u64).to_le_bytes());
            bytes.truncate(size);
        }
        self.change.edits.push(Edit {
            at: self.start.saturating_add(end),
            removed: 0,
            bytes,
        });
    }

    /// Replaces the location list of an entry. The offsets are the start of the entry and the end of its abbreviation code.
    ///
    /// * `location`: the offset of the location attribute, its size in bytes, and its form.
    pub(super) fn replace_location(
        &mut self,
        abbreviation: &gimli::Abbreviation,
        list: usize,
        [at, after_code]: [usize; 2],
        (place, size, form): (usize, usize, gimli::DwForm),
    ) -> Result<(), Refused> {
        let place = self.start.saturating_add(place);
        let bytes = fixed(list, self.offset_size).ok_or("a location list is too far away")?;
        match form {
            dw::DW_FORM_sec_offset => {
                pay_for_patches(self.source.meter, 1)?;
                self.change.patches.push(Patch {
                    section: PatchedSection::Info,
                    at: place,
                    bytes,
                });
            }
            dw::DW_FORM_loclistx => {
                self.change_code(
                    abbreviation,
                    AbbreviationChange::LocationOffset,
                    at,
                    after_code,
                );
                self.change.edits.push(Edit {
                    at: place,
                    removed: size,
                    bytes,
                });
            }
            form => return Err(format!("a location list has the form {form}")),
        }
        Ok(())
    }

    /// Gives an entry a changed abbreviation.
    fn change_code(
        &mut self,
        abbreviation: &gimli::Abbreviation,
        change: AbbreviationChange,
        at: usize,
        after_code: usize,
    ) {
        let key = (abbreviation.code(), change);
        let code = match self.codes.get(&key) {
            Some(code) => *code,
            None => {
                let code = self.next_code;
                self.next_code = code.saturating_add(1);
                self.codes.insert(key, code);
                self.declare(code, abbreviation, change);
                code
            }
        };
        let mut bytes = Vec::new();
        write_uleb(code, &mut bytes);
        self.change.edits.push(Edit {
            at: self.start.saturating_add(at),
            removed: after_code.saturating_sub(at),
            bytes,
        });
    }

    /// Declares a changed abbreviation.
    fn declare(&mut self, code: u64, old: &gimli::Abbreviation, change: AbbreviationChange) {
        let out = &mut self.new_abbreviations;
        write_uleb(code, out);
        write_uleb(old.tag().0.into(), out);
        out.push(u8::from(old.has_children()));
        for specification in old.attributes() {
            let name = specification.name();
            let is_location = name == dw::DW_AT_location;
            let form = match change {
                AbbreviationChange::LocationOffset if is_location => dw::DW_FORM_sec_offset,
                AbbreviationChange::LocationOffset | AbbreviationChange::Lanes { .. } => {
                    specification.form()
                }
            };
            write_uleb(name.0.into(), out);
            write_uleb(form.0.into(), out);
            if let Some(value) = specification.implicit_const_value() {
                crate::expr::write_sleb(value, out);
            }
        }
        let mut add = |extension, form: gimli::DwForm| {
            write_uleb(attribute_code(extension).0.into(), out);
            write_uleb(form.0.into(), out);
        };
        if let AbbreviationChange::Lanes { has_active_lane } = change {
            add(Extension::Lanes, dw::DW_FORM_data1);
            add(Extension::LanePc, dw::DW_FORM_sec_offset);
            if has_active_lane {
                add(Extension::ActiveLane, dw::DW_FORM_sec_offset);
            }
        }
        out.extend([0, 0]);
    }
}
