//! From which number on the editor counts lines and columns. Source: Debug Adapter Protocol, `InitializeRequestArguments`.

use super::message::Request;

/// The numbers of the first line and the first column: 1 unless the editor says otherwise.
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
    /// Reads what an editor says at first.
    ///
    /// # Errors
    /// If it wants paths in another form than plain ones.
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

    /// Returns a line as the editor counts, of one from 1.
    pub(super) fn line(self, line: u64) -> u64 {
        line.saturating_sub(1).saturating_add(self.first_line)
    }

    /// Returns a column as the editor counts, of one from 1.
    pub(super) fn column(self, column: u64) -> u64 {
        column.saturating_sub(1).saturating_add(self.first_column)
    }

    /// Returns how many columns are before one of the editor's.
    pub(super) fn columns_before(self, column: i64) -> usize {
        let first = self.first_column.cast_signed();
        usize::try_from(column.saturating_sub(first)).unwrap_or(0)
    }
}
