"""Tests the facts about the kernels of a code object."""

from __future__ import annotations

import hetdwarf

from conftest import FIXTURES


def test_what_a_kernel_takes_and_starts_with() -> None:
    # `dwarf6.cl`: three pointers and an int; work-group ids x and z, work-item ids of all three, and the dispatch packet.
    kernel = hetdwarf.open(FIXTURES / "shapes" / "dwarf6-as-5.hsaco").kernels[0]
    assert kernel.arguments is not None
    places = [(argument["offset"], argument["size"]) for argument in kernel.arguments if not argument["hidden"]]
    assert places == [(0, 8), (8, 4), (16, 8), (24, 4)]
    assert kernel.max_workgroup_size == 256 and kernel.required_workgroup_size is None
    # `llvm-objdump-22 -D` shows .amdhsa_user_sgpr_private_segment_buffer, _dispatch_ptr and _kernarg_segment_ptr: 4, 2 and 2 registers.
    held = [(one["registers"], one["holds"]) for one in kernel.initial_registers]
    assert held[:4] == [
        ("s[0:3]", "private-segment-buffer"),
        ("s[4:5]", "dispatch-pointer"),
        ("s[6:7]", "kernarg-segment-pointer"),
        ("s8", "work-group-id-x"),
    ]
    assert [one for one in held if one[0] == "v0"] == [("v0", f"work-item-id-{axis}") for axis in "xyz"]
