"""`python -m oxidax_kernels`."""

from __future__ import annotations

import subprocess
import sys

import pytest


def command(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "oxidax_kernels", *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_it_says_what_xla_has():
    code, printed = command()
    assert code == 0
    assert "OpenBLAS  0.3" in printed
    assert "SciPy     " in printed
    lines = [line.split(maxsplit=2) for line in printed.splitlines()]
    assert ["cholesky", "potrf", "c, d, s, z ours"] in lines
    assert ["qr", "orgqr", "d, s ours"] in lines
    assert ["qr", "ungqr", "c, z ours"] in lines


def test_a_part():
    code, printed = command("--only", "svd", "--only", "dgeev", "--skip", "cgesdd")
    assert code == 0
    lines = [line.split(maxsplit=2) for line in printed.splitlines()]
    assert ["svd", "gesdd", "c jaxlib's; d, s, z ours"] in lines
    assert ["eig", "geev", "c, s, z jaxlib's; d ours"] in lines
    assert ["cholesky", "potrf", "c, d, s, z jaxlib's"] in lines


@pytest.mark.parametrize(("arguments", "expected"), [(["--help"], 0), (["--only", "nothing"], 2), (["--nothing"], 2)])
def test_help_and_wrong_usage(arguments, expected):
    code, printed = command(*arguments)
    assert code == expected
    assert "usage: python -m oxidax_kernels" in printed
