//! Defines the styles of text on a terminal.

use anstyle::{AnsiColor, Style};

/// Names and titles.
pub(crate) const BOLD: Style = Style::new().bold();
/// Secondary and missing information.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Errors.
pub(crate) const ALARM: Style = AnsiColor::Red.on_default().bold();
/// Warnings.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
