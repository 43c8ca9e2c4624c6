"""The guide quotes the code as it is, and names files that are there."""

from __future__ import annotations

import re

from conftest import REPOSITORY

KERNELS = REPOSITORY / "kernels"
GUIDE = KERNELS / "GUIDE.md"


def test_the_code_of_the_guide_is_that_of_the_files():
    path, blocks = None, 0
    for name, block in re.findall(r"^`(\S+)`$|^```rust\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE):
        if name:
            path = KERNELS / name
        else:
            assert block in path.read_text(), f"{path} has no longer:\n{block}"
            blocks += 1
    assert blocks == 4


def test_the_files_of_the_guide_are_there():
    text = GUIDE.read_text()
    names = re.findall(r"`((?:\.\./|src/|tests/|python/|small/)[\w./]+)`", text)
    assert len(names) > 10
    for name in names:
        roots = (KERNELS, KERNELS / "src", KERNELS / "python")
        assert any((root / name).exists() for root in roots), f"the guide names {name}"
