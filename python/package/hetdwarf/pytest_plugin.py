"""A fixture for compilers' tests: `hetdwarf_verify(kernel)` fails the test if debugging information is wrong."""

from __future__ import annotations

from typing import Callable, Iterable, Optional

import pytest

from . import Finding, Object
from . import triton

Verify = Callable[..., "list[Finding]"]


@pytest.fixture
def hetdwarf_verify() -> Verify:
    """Checks a code object: its path, its bytes, an `Object`, or a compiled kernel of Triton.

    The test fails if there is a finding of severity error that `allow` does not name; all findings are returned.
    """

    def check(
        kernel: "triton.Source | Object",
        rules: Optional[Iterable[str]] = None,
        allow: Iterable[str] = (),
        profile: Optional[str] = None,
    ) -> "list[Finding]":
        chosen = None if rules is None else list(rules)
        obj = kernel if isinstance(kernel, Object) else triton.open(kernel)
        findings = obj.verify(rules=chosen, profile=profile)
        allowed = set(allow)
        wrong = [finding for finding in findings if finding.severity == "error" and finding.rule not in allowed]
        if wrong:
            shown = "\n".join(repr(finding) for finding in wrong[:20])
            more = f"\nand {len(wrong) - 20} more" if len(wrong) > 20 else ""
            pytest.fail(f"{len(wrong)} errors in the debugging information:\n{shown}{more}", pytrace=False)
        return findings

    return check
