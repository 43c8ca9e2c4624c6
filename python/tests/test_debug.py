"""`OXIDAX_DEBUG`: what is printed and filled; each test in a process of its own, for it is read once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap

import pytest
from conftest import library_path

CALLS = """
    import sys, jax, jax.numpy as jnp, oxidax
    ops = oxidax.load(sys.argv[1])
    print(jnp.isnan(ops.forgets_the_tail(jnp.ones(6))).tolist())
    print(ops.add_into(jnp.ones(2), jnp.ones((3, 2))).tolist())
    print(jax.jit(ops.add_into, donate_argnums=0)(jnp.ones(2), jnp.ones(2)).tolist())
    try:
        print(ops.checked_sqrt(jnp.float32(-1)))
    except Exception as error:
        print("refused" if "has no root" in str(error) else error)
"""
HONEST = ["[[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]", "[2.0, 2.0]", "refused"]
TRACE = [
    "oxidax_testlib.forgets_the_tail(f32[6]) -> f32[6] in",
    "oxidax_testlib.add_into(f32[3,2], f32[3,2]) -> f32[3,2] in",
    "oxidax_testlib.add_into(f32[2], f32[2]) -> f32[2] in",
    "oxidax_testlib.checked_sqrt(f32[]) -> f32[] failed in",
]


@pytest.fixture
def debug():
    """Runs `CALLS` with a value of the variable; what they print, and what the handlers do."""

    def run(value):
        environment = {**os.environ, "OXIDAX_DEBUG": value, "JAX_PLATFORMS": "cpu"}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        command = [sys.executable, "-c", textwrap.dedent(CALLS), library_path("oxidax_testlib")]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=True)
        traced = [line for line in done.stderr.splitlines() if line.startswith("oxidax: ")]
        return done.stdout.splitlines(), traced

    return run


def without_times(lines):
    return [re.sub(r"oxidax: (.* in) \d+(\.\d+)?(ns|µs|ms|s)$", r"\1", line) for line in lines]


def test_trace_prints_a_line_for_each_call(debug):
    printed, traced = debug("trace")
    assert printed[1:] == HONEST
    assert without_times(traced) == TRACE


def test_poison_shows_what_is_not_written_and_leaves_inouts_alone(debug):
    printed, traced = debug("poison")
    assert printed == ["[False, False, False, False, True, True]", *HONEST]
    assert without_times(traced) == []


def test_both_and_a_word_that_is_unknown(debug):
    printed, traced = debug("trace,poison,all")
    assert printed == ["[False, False, False, False, True, True]", *HONEST]
    assert without_times(traced)[1:] == TRACE
    assert traced[0] == 'oxidax: OXIDAX_DEBUG: unknown option "all": there are trace and poison'


def test_nothing_is_printed_without_it(debug):
    printed, traced = debug("")
    assert printed[1:] == HONEST
    assert without_times(traced) == []
