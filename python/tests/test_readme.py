"""The README's Python runs as it is written."""

from __future__ import annotations

import os
import re

from conftest import LIBRARIES, REPOSITORY


def test_the_python_of_the_readme_runs(run_python):
    text = (REPOSITORY / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        run_python(block.replace("target/release/", f"{LIBRARIES}{os.sep}"))
