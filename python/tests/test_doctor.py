"""``python -m oxidax``."""

import c_library
import pytest
from c_library import operation
from conftest import library_path

from oxidax.__main__ import main


def test_it_lists_operations_and_versions(capsys):
    assert main([str(library_path("rms_norm"))]) == 0
    printed = capsys.readouterr().out
    for word in (
        "jaxlib",
        "XLA FFI API 0.",
        "rms_norm(x, /, *, eps=1e-05)",
        "x: f32 (..., n) -> y: f32 (..., n)",
        "accepted",
    ):
        assert word in printed


def test_it_fails_for_a_library_that_cannot_be_loaded(capsys, tmp_path):
    assert main([str(tmp_path / "nothing.so"), str(library_path("rms_norm"))]) == 1
    captured = capsys.readouterr()
    assert "there is no such file" in captured.err
    assert "rms_norm" in captured.out


def test_it_says_which_platform_is_not_here(capsys, tmp_path):
    assert main([str(c_library.build(tmp_path, operation("doctor_gpu", "x() -> y()", platform="cuda")))]) == 0
    assert "cuda: FFI API 0.1, no such device here" in capsys.readouterr().out


def test_without_a_library_it_prints_versions(capsys):
    assert main([]) == 0
    assert "jaxlib" in capsys.readouterr().out


def test_wrong_usage_is_2():
    with pytest.raises(SystemExit) as caught:
        main(["--nonsense"])
    assert caught.value.code == 2
