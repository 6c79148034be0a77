"""Formats variables and frames for notebooks. All text from files is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import Frame, Variable

_PER_ROW = 8


def _shown(text: str) -> str:
    """Returns text for HTML, with escapes in place of invisible characters."""
    return escape("".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text))


def variable(variable: Variable) -> str:
    """Returns a table of the lanes, eight in a row."""
    rows = []
    for start in range(0, variable.wave_size, _PER_ROW):
        cells = []
        for lane in range(start, start + _PER_ROW):
            state = variable.state(lane)
            if state in ("ok", "partial"):
                cells.append(f"<td>{_shown(variable.text(lane))}</td>")
            else:
                title = _shown(variable.message(lane) or state)
                cells.append(f'<td title="{title}" style="opacity:.5"><i>{_shown(state)}</i></td>')
        rows.append(f"<tr><th>{start}–{start + _PER_ROW - 1}</th>{''.join(cells)}</tr>")
    name = f"<code>{_shown(variable.type.name)} {_shown(variable.name)}</code>"
    return f"<table><caption>{name}</caption>{''.join(rows)}</table>"


def frame(frame: Frame) -> str:
    """Returns a picture of the places of the lanes in a frame."""
    return f"<p><code>{_shown(repr(frame))}</code></p>{frame.lane_picture()}"
