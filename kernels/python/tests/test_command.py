"""`python -m oxidax_kernels`."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest


def command(*arguments: str, **environment: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "oxidax_kernels", *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    return done.returncode, re.sub(" +", " ", done.stdout + done.stderr)


def test_it_says_what_xla_has():
    code, printed = command()
    assert code == 0
    assert "OpenBLAS 0.3" in printed
    assert "SciPy " in printed
    for line in ("cholesky potrf c, d, s, z ours", "qr orgqr d, s ours", "qr ungqr c, z ours", "eigh heevd c, z ours"):
        assert line in printed


def test_where_jax_is_told_to_use_another_device():
    code, printed = command(JAX_PLATFORMS="cuda")
    assert code == 0, printed


def test_a_part():
    code, printed = command("--only", "svd", "--only", "dgeev", "--skip", "cgesdd")
    assert code == 0
    assert "svd gesdd c jaxlib's; d, s, z ours" in printed
    assert "eig geev c, s, z jaxlib's; d ours" in printed
    assert "cholesky potrf c, d, s, z jaxlib's" in printed


@pytest.mark.parametrize(("arguments", "expected"), [(["--help"], 0), (["--only", "nothing"], 2), (["--nothing"], 2)])
def test_help_and_wrong_usage(arguments, expected):
    code, printed = command(*arguments)
    assert code == expected
    assert "usage: python -m oxidax_kernels" in printed
