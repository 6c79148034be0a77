"""Values as arrays of numpy, which is imported only here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import Type, Variable


def _dtype(ty: Type) -> str | None:
    """The dtype of a scalar type; None of any other."""
    while ty.kind in ("typedef", "qualified"):
        target = ty.target
        if target is None:
            return None
        ty = target
    if ty.kind in ("pointer", "enumeration"):
        is_signed = ty.kind == "enumeration" and ty.target is not None and (_dtype(ty.target) or "").startswith("<i")
        return f"<{'i' if is_signed else 'u'}{ty.size}" if ty.size in (1, 2, 4, 8) else None
    return ty.dtype


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
    first = next(iter(values.values()), None)
    if isinstance(first, list) and first and not isinstance(first[0], (dict, str, bytes)):
        blank = numpy.zeros_like(numpy.array(first))
        data = numpy.stack([numpy.array(values[lane]) if lane in values else blank for lane in range(variable.wave_size)])
        wide = numpy.zeros(data.shape, dtype=bool)
        wide[mask] = True
        return numpy.ma.MaskedArray(data, mask=wide)
    data = numpy.empty(variable.wave_size, dtype=object)
    for lane, value in values.items():
        data[lane] = value
    return numpy.ma.MaskedArray(data, mask=mask)
