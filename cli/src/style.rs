//! How text is set off on a terminal.

use anstyle::{AnsiColor, Style};

/// Names and titles.
pub(crate) const BOLD: Style = Style::new().bold();
/// What is of less interest, or missing.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// What is wrong.
pub(crate) const ALARM: Style = AnsiColor::Red.on_default().bold();
/// What is no reason to stop.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
