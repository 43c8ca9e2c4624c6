"""Where the compiled libraries are, and what every test needs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import jax
import pytest

import oxidax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_enable_x64", True)

REPOSITORY = Path(__file__).parents[2]
LIBRARIES = Path(os.environ.get("OXIDAX_TEST_LIBRARIES", REPOSITORY / "target" / "release"))


def library_path(name: str) -> Path:
    """A compiled library: from OXIDAX_TEST_LIBRARIES (a folder), else from target/release."""
    path = LIBRARIES / f"lib{name}.so"
    if not path.exists():
        pytest.fail(f"{path} is missing: run `cargo build --release -p {name}` first, or set OXIDAX_TEST_LIBRARIES")
    return path


@pytest.fixture(scope="session")
def ops() -> oxidax.Library:
    """The odd operations of python/testlib."""
    return oxidax.load(library_path("oxidax_testlib"))


@pytest.fixture(scope="session")
def rms() -> oxidax.Library:
    return oxidax.load(library_path("rms_norm"))


@pytest.fixture(scope="session")
def lu() -> oxidax.Library:
    return oxidax.load(library_path("lu_pivots"))


@pytest.fixture
def x64_off():
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


@pytest.fixture
def run_python():
    """Runs code in a process of its own, where no backend has started; gives what it prints."""

    def run(code: str, *args: object) -> str:
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(map(str, sys.path))}
        done = subprocess.run(
            [sys.executable, "-W", "default::UserWarning:oxidax", "-c", textwrap.dedent(code), *map(str, args)],
            capture_output=True, text=True, env=environment, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(autouse=True)
def _no_stray_warnings():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="oxidax")
        yield
