"""Installs the kernels before JAX is imported, as a program would."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import oxidax_kernels

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_NUM_CPU_DEVICES"] = "2"  # for opcheck
os.environ.pop("OXIDAX_KERNELS", None)

oxidax_kernels.install()

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def run_python():
    """Runs code in a process of its own, without the kernels; gives what it prints."""

    def run(code: str, *args: object, path: object = None, expect: int = 0, **environment: str) -> str:
        paths = [str(path)] if path else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, *filter(None, sys.path)]), **environment}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
            capture_output=True, text=True, env=environment, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == expect, done.stderr
        return done.stdout + done.stderr if expect else done.stdout

    return run
