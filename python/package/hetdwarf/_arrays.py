"""Values as arrays of numpy, which is imported only here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import Type, Variable


def _dtype(ty: Type) -> str | None:
    """The dtype of a scalar type; None of any other."""
    # Typedefs of a damaged file may go in a circle.
    for _ in range(64):
        target = ty.target if ty.kind in ("typedef", "qualified") else None
        if target is None:
            break
        ty = target
    if ty.kind in ("pointer", "enumeration"):
        is_signed = ty.kind == "enumeration" and ty.target is not None and (_dtype(ty.target) or "").startswith("<i")
        return f"<{'i' if is_signed else 'u'}{ty.size}" if ty.size in (1, 2, 4, 8) else None
    return ty.dtype


def _is_numeric(value: Any) -> bool:
    """Whether a value is a list of numbers, or of such lists. An array of characters can be text in another lane."""
    if isinstance(value, list) and value:
        return all(_is_numeric(part) or isinstance(part, (bool, int, float)) for part in value)
    return False


def array(variable: Variable) -> Any:
    """A masked array with an entry for each lane of the wave; what has no whole value is masked."""
    import numpy

    values = variable.values()
    mask = [lane not in values for lane in range(variable.wave_size)]
    dtype = _dtype(variable.type)
    if dtype is not None:
        data = numpy.zeros(variable.wave_size, dtype=dtype)
        for lane, value in values.items():
            data[lane] = value
        return numpy.ma.MaskedArray(data, mask=mask)
    if values and all(_is_numeric(value) for value in values.values()):
        blank = numpy.zeros_like(numpy.array(next(iter(values.values()))))
        data = numpy.stack([numpy.array(values[lane]) if lane in values else blank for lane in range(variable.wave_size)])
        wide = numpy.zeros(data.shape, dtype=bool)
        wide[mask] = True
        return numpy.ma.MaskedArray(data, mask=wide)
    data = numpy.empty(variable.wave_size, dtype=object)
    for lane, value in values.items():
        data[lane] = value
    return numpy.ma.MaskedArray(data, mask=mask)
