"""Converts values to numpy arrays. Only this module imports numpy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from . import Variable


def _fill(data: Any, mask: Any, missing: Any) -> None:
    """Masks elements with missing bytes, field by field, and makes truth values 0 or 1.

    * missing: has the shape of `data`, with one more dimension for the bytes of each element.
    """
    dtype = data.dtype
    if dtype.names is None:
        mask[...] = missing.any(axis=-1)
        if dtype == bool:
            data[...] = data.view("u1") != 0
        return
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        part = missing[..., offset : offset + field.itemsize]
        _fill(data[name], mask[name], part.reshape(*data[name].shape, field.base.itemsize))


def _objects(variable: Variable, dimensions: list[int] | None) -> Any:
    """Returns an array of Python values, for types without a numpy dtype."""
    import numpy

    shape = (variable.wave_size, *(dimensions or ()))
    data = numpy.empty(shape, dtype=object)
    for lane in range(variable.wave_size):
        part = variable._part(lane)
        if part is not None:
            _assign(data, (lane,), part, len(shape))
    mask = numpy.array([entry is None for entry in data.flat], dtype=bool).reshape(shape)
    return numpy.ma.MaskedArray(data, mask=mask)


def _assign(data: Any, index: tuple[int, ...], part: Any, depth: int) -> None:
    if len(index) == depth:
        data[index] = part
    elif isinstance(part, list):
        for at, inner in enumerate(part):
            _assign(data, (*index, at), inner, depth)


def array(variable: Variable) -> Any:
    """Returns a masked array: the lanes of the wave, then the dimensions of the type. Missing values are masked."""
    import numpy

    dimensions, dtype, conversion, contents = variable._numpy()
    if dtype is None or dimensions is None or contents is None:
        return _objects(variable, dimensions)
    element = numpy.dtype(cast(Any, dtype))
    shape = (variable.wave_size, *dimensions)
    mask = numpy.zeros(shape, dtype=numpy.ma.make_mask_descr(element))
    if math.prod(shape) == 0:
        return numpy.ma.MaskedArray(numpy.zeros(shape, dtype=element), mask=mask)
    data = numpy.frombuffer(contents[0], dtype=element).reshape(shape)
    missing = numpy.frombuffer(contents[1], dtype=bool)
    _fill(data, mask, missing.reshape(*shape, element.itemsize))
    if conversion == "bool":
        data = data != 0
    elif conversion == "bfloat16":
        # The upper half of a float32.
        data = (data.astype("<u4") << 16).view("<f4")
    return numpy.ma.MaskedArray(data, mask=mask)
