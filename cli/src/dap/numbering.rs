//! Converts lines and columns to the editor's numbering, which starts at 0 or 1. Source: Debug Adapter Protocol,
//! `InitializeRequestArguments`.

use super::message::Request;

/// The numbers of the first line and the first column, which are 1 unless the editor requests otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbering {
    first_line: u64,
    first_column: u64,
}

impl Default for Numbering {
    fn default() -> Numbering {
        Numbering {
            first_line: 1,
            first_column: 1,
        }
    }
}

impl Numbering {
    /// Reads the numbering from the editor's first request.
    ///
    /// # Errors
    /// If the editor requests URIs instead of paths.
    pub(super) fn of(request: &Request) -> Result<Numbering, String> {
        match request.text("pathFormat")? {
            None | Some("path") => {}
            Some(_) => return Err("pathFormat: paths are plain, as of \"path\"".to_owned()),
        }
        let first = |name: &str| Ok::<u64, String>(u64::from(request.flag(name)?.unwrap_or(true)));
        Ok(Numbering {
            first_line: first("linesStartAt1")?,
            first_column: first("columnsStartAt1")?,
        })
    }

    /// Converts a line, counted from 1, to the editor's numbering.
    pub(super) fn line(self, line: u64) -> u64 {
        line.saturating_sub(1).saturating_add(self.first_line)
    }

    /// Converts a column, counted from 1, to the editor's numbering.
    pub(super) fn column(self, column: u64) -> u64 {
        column.saturating_sub(1).saturating_add(self.first_column)
    }

    /// Returns the number of columns before a column of the editor.
    pub(super) fn columns_before(self, column: i64) -> usize {
        let first = self.first_column.cast_signed();
        usize::try_from(column.saturating_sub(first)).unwrap_or(0)
    }
}
