"""Provides a fixture for tests of compilers: `hetdwarf_verify(kernel)` fails the test if the debugging information is wrong."""

from __future__ import annotations

from typing import Callable, Iterable, Optional, Union

import pytest

from . import Error, Finding, Object, rules as _rules
from . import triton

Verify = Callable[..., "list[Finding]"]


@pytest.fixture
def hetdwarf_verify() -> Verify:
    """Checks code objects. Each is a path, bytes, an `Object`, or a compiled Triton kernel.

    The test fails if a finding has severity error and `allow` does not name its rule, or if a file cannot be read. All files are
    checked before the test fails. Returns all findings. `rules` and `allow` are names of rules, or prefixes with `*` (`cfi-*`): one,
    several separated by commas, or an iterable of them. An unknown name is a `ValueError`.
    """

    def check(
        *kernels: "triton.Source | Object",
        rules: Optional[Union[str, Iterable[str]]] = None,
        allow: Union[str, Iterable[str]] = (),
        profile: Optional[str] = None,
    ) -> "list[Finding]":
        allowed = set(_rules(triton.names(allow) or []))
        chosen = triton.names(rules)
        if chosen is not None:
            _rules(chosen)
        findings: "list[Finding]" = []
        problems: "list[str]" = []
        for kernel in kernels:
            try:
                obj = kernel if isinstance(kernel, Object) else triton.open(kernel)
                found = obj.verify(rules=chosen, profile=profile)
            except (Error, OSError) as error:
                problems.append(f"not readable: {error}")
                continue
            findings += found
            problems += [repr(one) for one in found if one.severity == "error" and one.rule not in allowed]
        if problems:
            shown = "\n".join(problems[:20])
            more = f"\nand {len(problems) - 20} more" if len(problems) > 20 else ""
            pytest.fail(f"{len(problems)} errors in the debugging information:\n{shown}{more}", pytrace=False)
        return findings

    return check
