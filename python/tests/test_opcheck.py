"""`opcheck` accepts every honest operation, and each liar is rejected by the check that is made for it."""

from __future__ import annotations

import dataclasses
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oxidax
from oxidax._operation import Operation
from oxidax.testing import CHECKS, OpcheckError, _memory, opcheck


def random(*shape, dtype="float64"):
    x = np.random.default_rng(len(shape)).standard_normal(shape)
    return (x + 1j * x[..., ::-1] if np.dtype(dtype).kind == "c" else x).astype(dtype)


def single(*shape):
    return random(*shape, dtype="float32")


# Liars ------------------------------------------------------------------------------------------

LIARS = {
    # The operation, its operands, the checks that fail: exactly these.
    "forgets_the_tail": ([single(6)], "written"),
    "forgets_the_batch": ([single(6)], "batches independent written"),
    "adds_to_its_result": ([np.arange(1, 6, dtype="int32")], "written"),
    "changes_its_operand": ([single(6)], "operands"),
    "reads_past_the_end": ([single(3), single(3)], "batches"),
    "repeats_operands": ([single(3), single(3)], "batches"),
    "refuses_two_axes": ([single(3)], "batches"),
    "rounds_by_batch_index": ([single(3)], "independent"),
    "rounds_by_thread": ([single(3)], "independent"),
    "counts_its_calls": ([single(3).astype(float)], "batches independent devices export"),
    "remembers_the_last_call": ([single(3)], "independent"),
    "guesses": ([single(3)], "batches independent devices export"),
    "needs_an_element": ([single(3)], "empty"),
    "forgets_empty_rows": ([single(2, 3)], "empty"),
    "panics_on_nan": ([single(3)], "nonfinite"),
    "gives_up_on_nan": ([single(3)], "nonfinite"),
    "wrong_gradient": ([random()], "vjp transpose"),
    "wrong_tangent": ([random()], "jvp transpose"),
    "wrong_in_both_modes": ([random()], "jvp vjp"),
    "other_results": ([random()], "vjp"),
    "wrong_tangent_in_batches": ([random()], "jvp"),
}
#: Checks that such a liar may fail as well: what it does is a matter of chance.
PERHAPS = {
    "forgets_the_tail": {"independent", "devices", "export", "batches", "nonfinite"},  # as the memory was
    "forgets_the_batch": {"devices", "export"},
    "changes_its_operand": set(CHECKS),
    "adds_to_its_result": {"independent", "devices", "export", "batches"},
    "reads_past_the_end": {"devices"},
    "rounds_by_thread": {"export"},
    "remembers_the_last_call": {"export"},
    "gives_up_on_nan": {"independent"},
}


@pytest.mark.parametrize("name", LIARS)
def test_each_liar_is_rejected_by_its_check(ops, name):
    if name == "rounds_by_thread" and os.cpu_count() == 1:
        pytest.skip("there is one thread")
    args, expected = LIARS[name]
    # On a busy machine a second thread may come too late to take part.
    for _ in range(10 if name == "rounds_by_thread" else 1):
        report = opcheck(ops[name], *args, raise_on_failure=False)
        if not report:
            break
    failed, expected = set(report.failed), set(expected.split())
    assert expected <= failed <= expected | PERHAPS.get(name, set())
    assert not report


def test_the_messages_say_what_was_found(ops):
    def message(name, check):
        others = [other for other in CHECKS if other != check]
        return opcheck(ops[name], *LIARS[name][0], skip=others, raise_on_failure=False)[check].detail

    assert message("forgets_the_tail", "written") == (
        'result "y" of shape (6,): 2 of 6 elements are not written, the first at (4)'
    )
    assert message("adds_to_its_result", "written") == 'result "y" depends on what its memory held before the call'
    assert message("changes_its_operand", "operands") == 'operand "x" is changed by a call'
    assert message("reads_past_the_end", "batches").startswith('operands "x" batched, element 1: result "z": ')
    assert message("repeats_operands", "batches").startswith("nested jax.vmap, element (0, 1): ")
    assert message("needs_an_element", "empty").startswith("n = 0: INTERNAL: needs_an_element: panicked: ")
    assert message("forgets_empty_rows", "empty").startswith('n = 0: result "y" of shape (2,): 2 of 2 elements are not')
    assert message("gives_up_on_nan", "nonfinite").startswith('nan in operand "x": result "y" of shape (3,): 3 of 3')
    assert message("other_results", "vjp").startswith("the forward pass returns other results than the operation: ")
    assert message("wrong_tangent_in_batches", "jvp").startswith("under jax.vmap, element 1: ")


def test_a_batch_that_is_gathered_is_found(rms, monkeypatch):
    assert opcheck(rms.gained_rms_norm, random(3), random(3))["devices"].detail == "nothing is gathered"
    monkeypatch.setattr("oxidax._jax.device_count", lambda ctx: 1)
    report = opcheck(rms.gained_rms_norm, random(3), random(3), raise_on_failure=False)
    assert report.failed == ("devices",)
    assert report["devices"].detail == 'over two devices, with "x" and "gain" batched: the batch is gathered on each'


def tampered(operation, name, **changes):
    """An operation whose manifest says something else than its handler does."""
    definition = dataclasses.replace(operation.definition, vjp=None, jvp=None, **changes)
    twin = Operation([definition], f"test_opcheck.{name}")
    twin.add_handler("cpu", operation.handler("cpu"))
    return twin


def test_a_wrong_dtype_in_the_manifest_is_rejected_by_shapes(ops):
    definition = ops.double_only.definition
    instance = dataclasses.replace(definition.instances[0], dtypes={"x": "f64", "y": "f32"})
    report = opcheck(tampered(ops.double_only, "dtype", instances=(instance,)), random(3), raise_on_failure=False)
    assert report.failed == ("shapes",)
    assert 'result 0 "y": expected f64, got f32' in report["shapes"].detail
    assert {check.detail for check in report.checks[1:]} == {"the call itself fails"}


def test_a_wrong_shape_in_the_manifest_is_rejected_by_shapes(ops):
    x, y = ops.double_only.definition.buffers
    longer = dataclasses.replace(y, shape=(["+", ["dim", "n"], 1],))
    report = opcheck(tampered(ops.double_only, "shape", buffers=(x, longer)), random(3), raise_on_failure=False)
    assert report.failed == ("shapes",)


def test_without_debugging_entry_points_nothing_is_poisoned(ops):
    report = opcheck(tampered(ops.double_only, "plain"), random(3))
    assert report["written"].outcome == "skipped"
    assert report["empty"].detail == "n = 0"


def test_a_lowering_that_cannot_leave_the_process_is_rejected_by_export(ops):
    twin = tampered(ops.double_only, "callback")
    aval = lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype)  # noqa: E731
    lower = jax.interpreters.mlir.lower_fun(
        lambda x, **_: [jax.pure_callback(np.array, aval(x), x)], multiple_results=True
    )
    jax.interpreters.mlir.register_lowering(twin.primitive, lower, platform="cpu")
    report = opcheck(twin, random(3), raise_on_failure=False)
    assert report.failed == ("devices", "export")


def test_memory_that_is_shared_is_seen():
    x, y = jnp.arange(4.0), jnp.arange(4.0)
    assert _memory.overlap(x, x)
    assert not _memory.overlap(x, y)
    assert not _memory.overlap(x, jnp.zeros(0))


# Honest operations ------------------------------------------------------------------------------

M, N = random(2, 3), random(3, 4)
R = random()
I2 = np.int32(2)
HONEST = {
    "add_into": ([random(5), single(2, 5).astype(float)], {}),
    "add_into_bwd": ([random(5)], {}),
    "add_into_jvp": ([single(5), single(5)], {}),
    "array": ([], {"values": [1.0, 2.0], "n": 2, "dtype": np.float32}),
    "checked_sqrt": ([np.float32(2)], {}),
    "copy": ([random(5, dtype="complex64")], {}),
    "count": ([], {"n": 4, "dtype": np.float64}),
    "cube": ([R], {}),
    "cube_bwd": ([R, R], {}),
    "cube_fwd": ([single()], {}),
    "defaults": ([], {}),
    "double_only": ([random(0)], {}),
    "extent": ([random(4, 2)], {"extent": "full"}),
    "ignore": ([single(), I2], {}),
    "ignore_bwd": ([R], {}),
    "ignore_jvp": ([R], {}),
    "largest": ([random(5)], {"dtype": np.int32}),
    "matmul": ([single(2, 3), single(3, 4)], {}),
    "matmul_bwd": ([M, N, random(2, 4)], {}),
    "matmul_bwd_bwd": ([M, N, random(2, 4), M, N], {}),
    "matmul_bwd_jvp": ([M, N, random(2, 4), M, N, random(2, 4)], {}),
    "matmul_jvp": ([M, N, M, N], {}),
    "matmul_jvp_bwd": ([M, N, M, N, random(2, 4)], {}),
    "multiply": ([single(5)], {"by": 2.5}),
    "negate": ([np.array([True, False, True])], {}),
    "opposite": ([random(3)], {}),
    "outer": ([random(3), random(5, 1, 4), random(2)], {}),
    "pairs": ([single(2), single(4), single(3)], {}),
    "panics": ([np.float32(2)], {}),
    "wants_a_device": ([np.float32(2)], {}),
    "qr_shapes": ([random(4, 3)], {"full": True}),
    "evens": ([single(6)], {"k": 3}),
    "repeat": ([np.float32(2)], {"k": 3}),
    "repeat_bwd": ([single(3)], {}),
    "repeat_jvp": ([np.float32(2)], {"k": 3}),
    "reverse": ([random(4)], {}),
    "scalar": ([], {"value": 2, "dtype": np.int32}),
    "scale": ([random(3), I2], {}),
    "scale_bwd": ([I2, random(3)], {}),
    "scale_jvp": ([I2, random(3)], {}),
    "shrink": ([single(7)], {}),
    "quartic": ([R], {}),
    "quartic_bwd": ([R, R], {}),
    "quartic_bwd_bwd": ([R, R, R], {}),
    "quartic_bwd_jvp": ([R, R, R, R], {}),
    "quartic_fwd": ([R], {}),
    "quartic_fwd_bwd": ([R, R, R, R], {}),
    "quartic_fwd_jvp": ([R, R, R], {}),
    "quartic_jvp": ([R, R], {}),
    "quartic_jvp_bwd": ([R, R, R], {}),
    "quartic_jvp_jvp": ([R, R, R, R], {}),
    "square": ([R], {}),
    "square_jvp": ([R, R], {}),
    "sum": ([single(4)], {}),
    "sum_bwd": ([R], {"n": 4}),
    "take": ([random(5), np.array([0, -1, 3])], {}),
    "text": ([], {"n": 9}),
    "times": ([R, I2], {}),
    "triangle": ([random(3, 4, dtype="complex128")], {"uplo": "upper"}),
    "wave": ([single(3)], {"frequency": 1.5}),
    "wave_bwd": ([R, R], {"frequency": 1.5}),
    "wave_fwd": ([R], {"frequency": 1.5}),
    "wave_jvp": ([R, R], {"frequency": 1.5}),
    "whole_sum": ([single(2, 3)], {}),
    "widen": ([single(3)], {}),
    "windows": ([single(7)], {"size": 3, "stride": 2}),
}
EXAMPLES = {
    "rms_norm": ([single(2, 5)], {"eps": 0.1}),
    "rms_norm_fwd": ([random(5)], {}),
    "rms_norm_bwd": ([random(), random(5), random(5)], {}),
    "rms_norm_jvp": ([random(), random(5), random(5)], {}),
    "gained_rms_norm": ([random(2, 5), random(5)], {}),
    "gained_rms_norm_fwd": ([random(5), random(5)], {}),
    "gained_rms_norm_bwd": ([random(), *[random(5)] * 3], {}),
    "lu_pivots": ([np.array([1, 2, 2], "int32")], {"rows": 4}),
    "permutation_matrix": ([np.array([1, 0, 2], "int32"), single()], {}),
}


def test_no_operation_is_left_out(ops, rms, lu):
    is_liar = lambda operation: operation.definition.id.startswith("oxidax_testlib::liars::")  # noqa: E731
    assert {o.__name__ for o in ops if not is_liar(o)} == set(HONEST)
    assert {o.__name__ for o in ops if is_liar(o)} >= set(LIARS)
    assert {o.__name__ for o in (*rms, *lu)} == set(EXAMPLES)


@pytest.mark.parametrize("name", HONEST)
def test_honest_operations_are_accepted(ops, name):
    args, attrs = HONEST[name]
    # Its panic is for the tests of failures: a scaled operand does not reach it, an infinite one does.
    opcheck(ops[name], *args, skip=("nonfinite",) if name == "panics" else (), **attrs)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_accepted(rms, lu, name):
    args, attrs = EXAMPLES[name]
    opcheck((rms if name in rms else lu)[name], *args, **attrs)


# The report -------------------------------------------------------------------------------------


def test_a_failure_raises_with_the_report(ops, capsys):
    with pytest.raises(OpcheckError, match=r"^written failed\nopcheck oxidax_testlib\.adds_to_its_result") as error:
        opcheck(ops.adds_to_its_result, np.arange(3, dtype="int32"), skip=set(CHECKS) - {"written"})
    assert isinstance(error.value, AssertionError)
    assert str(error.value.report) in capsys.readouterr().out


def test_a_report_has_a_line_for_each_check(ops, capsys):
    report = opcheck(ops.opposite, random(3), skip=("export",))
    assert report
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "opcheck oxidax_testlib.opposite(f64[3])"
    assert [line.split()[0] for line in lines[1:]] == list(CHECKS) == [check.name for check in report.checks]
    assert report["jvp"] == oxidax.testing.Check("jvp", "skipped", "it has no `jvp` rule")
    assert report["export"].detail == "left out by the caller"
    with pytest.raises(KeyError, match="gradient is none of shapes, operands"):
        report["gradient"]


def test_what_cannot_be_batched_or_differentiated_is_skipped_with_the_reason(ops):
    report = opcheck(ops.reverse, random(4))
    assert report["batches"].detail == "it is declared with `batch = none`"
    report = opcheck(ops.count, n=3, dtype=np.int32)
    assert report["batches"].detail == report["operands"].detail == "it has no operands"
    assert report["jvp"].detail == "there is nothing to differentiate"


def test_batches_of_equal_elements_are_said_to_be_such(ops):
    report = opcheck(ops.take, random(3), np.array([2]), skip=set(CHECKS) - {"batches"})
    assert "equal" not in report["batches"].detail  # another `x` will do
    report = opcheck(ops.repeat, np.float32(0), k=2, skip=set(CHECKS) - {"batches"})
    assert report["batches"].detail.endswith("; all elements are equal, for it takes no others")


def test_derivatives_are_taken_in_double_precision_where_there_is_one(ops):
    assert opcheck(ops.square, single(), skip=set(CHECKS) - {"jvp"})["jvp"].detail == "in f64"
    assert opcheck(ops.repeat, single(), k=2, skip=set(CHECKS) - {"jvp"})["jvp"].detail == "in f32"


def test_without_64_bits(ops, x64_off):
    assert opcheck(ops.matmul, single(2, 3), single(3, 2))["vjp"].detail == "in f32"


def test_wrong_use_is_refused(ops):
    with pytest.raises(oxidax.SignatureError, match="expected 1 argument"):
        opcheck(ops.copy)
    with pytest.raises(ValueError, match="skip: gradient is none of shapes, operands"):
        opcheck(ops.copy, random(3), skip=("gradient",))
    with pytest.raises(ValueError, match="copy: the batch is empty"):
        opcheck(ops.copy, random(0, 3))
