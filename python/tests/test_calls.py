"""What a call accepts, and what it says when it does not."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import oxidax


def mistakes(function, *args, **kwargs) -> str:
    """The message of a call that has to fail, without the operation's name."""
    with pytest.raises(oxidax.SignatureError) as caught:
        function(*args, **kwargs)
    return str(caught.value).removeprefix(f"{caught.value.operation}: ")


F32 = jnp.float32
x3 = jnp.ones(3, F32)


def test_a_wrong_dtype_names_the_argument_and_what_it_may_be(rms, ops):
    assert mistakes(rms.rms_norm, jnp.ones(3, jnp.int32)) == 'argument 0 "x": expected f32 or f64, got s32'
    assert mistakes(rms.rms_norm, jnp.ones(3, jnp.float16)) == 'argument 0 "x": expected f32 or f64, got f16'
    assert mistakes(ops.double_only, x3) == 'argument 0 "x": expected f64, got f32'
    assert mistakes(ops.windows, jnp.ones(3, bool), size=1) == 'argument 0 "x": expected f32, got pred'
    assert mistakes(rms.rms_norm, np.ones(3, ml_dtypes.float8_e5m2)).endswith("got float8_e5m2")
    assert mistakes(rms.rms_norm, np.ones(3, ">f4")).startswith('argument 0 "x"') is True


def test_dtypes_that_fit_alone_but_not_together_list_the_instances(ops):
    assert mistakes(ops.matmul, jnp.ones((2, 3), F32), jnp.ones((3, 2))) == (
        "expected dtypes (a: f32, b: f32) or (a: f64, b: f64), got (a: f32, b: f64)"
    )


def test_objects_that_are_no_arrays_are_named(rms):
    assert mistakes(rms.rms_norm, [1.0, 2.0]).startswith('argument 0 "x": expected f32 or f64, got a list: pass an')
    assert "got a tuple" in mistakes(rms.rms_norm, (1.0, 2.0))
    assert "object of type NoneType" in mistakes(rms.rms_norm, None)
    assert "object of type dict" in mistakes(rms.rms_norm, {})
    assert "got object" in mistakes(rms.rms_norm, np.array([None, 1]))
    assert "masked array" in mistakes(rms.rms_norm, np.ma.masked_array(np.ones(2), [0, 1]))
    assert "got a PRNG key array (key<fry>)" in mistakes(rms.rms_norm, jax.random.key(0))
    assert "object of type ShapeDtypeStruct" in mistakes(rms.rms_norm, jax.ShapeDtypeStruct((2,), np.float32))
    float0 = np.zeros(3, jax.dtypes.float0)
    assert "float0" in mistakes(rms.rms_norm, float0)


def test_objects_with_a_jax_array_are_arrays(rms):
    class Wrapped:
        def __jax_array__(self):
            return x3

    np.testing.assert_array_equal(rms.rms_norm(Wrapped()), rms.rms_norm(x3))


@pytest.mark.parametrize("x64", [True, False])
def test_numpy_arrays_that_jax_wraps_while_it_traces_are_arrays(rms, x64, request):
    """Seen on 0.8, with a custom rule under jit."""
    if not x64:
        request.getfixturevalue("x64_off")
    x = np.arange(3.0)
    ours = jax.custom_vjp(lambda x: rms.rms_norm(x).sum())
    ours.defvjp(lambda x: (rms.rms_norm(x).sum(), rms.rms_norm(x)), lambda y, ct: (ct * y,))
    forward = jax.custom_jvp(rms.rms_norm)
    forward.defjvp(lambda x, t: (rms.rms_norm(*x), rms.rms_norm(*t)))
    np.testing.assert_array_equal(forward(x), rms.rms_norm(x))
    for run in (lambda f: f(), lambda f: jax.jit(f)()):
        np.testing.assert_allclose(run(lambda: ours(x)), rms.rms_norm(x).sum(), rtol=1e-6)
        np.testing.assert_allclose(run(lambda: jax.grad(ours)(x)), rms.rms_norm(x), rtol=1e-6)


def test_rank_and_unequal_dims(rms, ops):
    assert mistakes(rms.rms_norm, jnp.float32(1) + jnp.zeros((), F32)) == (
        'argument 0 "x": expected shape (..., n), got ()'
    )
    assert mistakes(ops.matmul, jnp.ones((2, 3)), jnp.ones((4, 5))) == (
        'argument 1 "b": expected k = 3 as in argument 0 "a", got k = 4 in shape (4, 5)'
    )
    assert mistakes(ops.pairs, x3, x3, x3) == 'argument 1 "both": expected 2 * n = 6 in axis -1, got 3 in shape (3,)'
    six = jnp.ones(6, F32)
    assert mistakes(ops.pairs, x3, six, six) == 'argument 2 "fixed": expected 3 in axis -1, got 6 in shape (6,)'
    assert ops.evens(six, k=3).tolist() == [1, 1, 1]
    assert mistakes(ops.evens, six) == 'missing keyword "k", a dim of the result'
    assert mistakes(ops.evens, six, k=4) == 'argument 0 "x": expected 2 * k = 8 in axis -1, got 6 in shape (6,)'
    for k in (2.0, -1, None):
        assert 'dim "k": expected a' in mistakes(ops.evens, six, k=k)
    assert mistakes(ops.matmul, jnp.ones((2, 2, 3)), jnp.ones((3, 3, 3))) == (
        'batch axes (2,) of argument 0 "a", (3,) of argument 1 "b" do not broadcast'
    )


def test_all_mistakes_of_a_call_come_together(ops):
    text = mistakes(ops.windows, jnp.ones((), jnp.int8), x3, size=2.5, strides=1)
    for part in (
        'unknown keyword "strides": did you mean stride?',
        "expected 1 argument (x), got 2",
        'argument 0 "x": expected f32, got s8',
        'attribute "size": expected s64, got float 2.5',
    ):
        assert part in text


def test_missing_unknown_and_misplaced_keywords(ops, rms, lu):
    assert mistakes(ops.windows, x3) == 'attribute "size": expected s64, got nothing: it has no default'
    assert mistakes(rms.rms_norm, x=x3) == (
        'argument "x": expected a positional argument, got a keyword; expected 1 argument (x), got 0'
    )
    assert 'missing keyword "rows"' in mistakes(lu.lu_pivots, jnp.ones(2, jnp.int32))
    assert mistakes(ops.cube, 1.0, power=3) == 'unknown keyword "power": expected none'


def test_the_error_is_a_type_error_and_a_value_error(rms):
    for kind in (TypeError, ValueError):
        with pytest.raises(kind):
            rms.rms_norm(None)


def test_errors_of_eager_calls_do_not_show_the_inside_of_jit(rms):
    with pytest.raises(oxidax.SignatureError) as caught:
        rms.rms_norm(jnp.ones(3, jnp.int32))
    assert len(caught.traceback) <= 2
    assert caught.value.__cause__ is None


def test_mistakes_are_found_under_jit_and_vmap_too(rms):
    bad = jnp.ones((2, 3), jnp.int32)
    for transformed in (jax.jit(rms.rms_norm), jax.vmap(rms.rms_norm)):
        with pytest.raises(oxidax.SignatureError, match='rms_norm: argument 0 "x": expected f32 or f64, got s32'):
            transformed(bad)


def test_python_scalars_take_the_declared_dtype(ops):
    assert ops.times(jnp.float32(2) * x3, 3).dtype == np.float32
    assert ops.times(np.float64(2.0), 3).dtype == np.float64
    assert ops.times(2.0, 3).dtype == np.float64
    assert float(ops.times(2, 3)) == 6
    assert ops.copy(np.ones(2, np.int8)).dtype == np.int8


def test_python_scalars_without_x64_take_single_precision(ops, x64_off):
    assert ops.times(2.0, 3).dtype == np.float32


def test_python_scalars_are_not_cut(ops):
    assert mistakes(ops.times, 1.0, 2.5).startswith('argument 1 "k": expected s32, got a Python float')
    assert "got a Python bool" in mistakes(ops.times, 1.0, True)
    assert "outside" in mistakes(ops.times, 1.0, 2**40)
    assert "got a Python complex" in mistakes(ops.times, 1j, 1)


def test_arrays_are_never_converted_but_weak_scalars_are(ops):
    assert mistakes(ops.times, x3, np.int64(3)) == 'argument 1 "k": expected s32, got s64'
    weak = jax.jit(lambda k: ops.times(x3, k))
    assert weak(3).tolist() == [3, 3, 3]
    assert "weak float" in mistakes(jax.jit(lambda k: ops.times(x3, k)), 2.5)
    assert ops.times(jnp.asarray(2.0), 3) == 6


def test_without_x64_the_message_says_how_to_get_it(ops, x64_off):
    assert "jax_enable_x64" in mistakes(ops.double_only, x3)
    assert "jax_enable_x64" in mistakes(ops.double_only, np.ones(3))


def test_a_64_bit_result_keeps_its_dtype_without_x64(ops, x64_off):
    assert ops.widen(x3).dtype == np.float64


def test_the_caller_chooses_a_dtype_that_no_argument_decides(ops):
    assert ops.count(n=3, dtype=jnp.float32).tolist() == [0, 1, 2]
    assert ops.count(n=3, dtype="s32").dtype == np.int32
    assert ops.count(n=0, dtype=np.dtype(np.float64)).shape == (0,)
    assert ops.largest(jnp.array([1.0, 3, 2]), dtype=jnp.int64).dtype == np.int64
    assert mistakes(ops.largest, x3) == ('missing keyword "dtype", the dtype of result "index": expected s32 or s64')
    assert "dtype: expected s32 or s64, got f32" in mistakes(ops.largest, x3, dtype=jnp.float32)
    assert "dtype: expected s32, f32 or f64, got an object of type int" in mistakes(ops.count, n=1, dtype=7)
    assert "got 'f7'" in mistakes(ops.count, n=1, dtype="f7")
    assert "object of type ndarray" in mistakes(ops.count, n=1, dtype=np.ones(2))


def test_sizes_that_only_a_result_has_are_keywords(ops):
    assert ops.repeat(2.0, k=3).tolist() == [2, 2, 2]
    assert ops.repeat(jnp.ones((2, 1), F32), k=0).shape == (2, 1, 0)
    assert 'missing keyword "k", a dim of the result' in mistakes(ops.repeat, 2.0)
    assert 'dim "k": expected a size, got -1' in mistakes(ops.repeat, 2.0, k=-1)
    assert 'dim "k": expected a size, got 1' in mistakes(ops.repeat, 2.0, k=10**30)
    assert 'dim "k": expected an int, got 2.0' in mistakes(ops.repeat, 2.0, k=2.0)
    with pytest.raises(oxidax.SignatureError, match="traced array: sizes are constants"):
        jax.jit(lambda k: ops.repeat(2.0, k=k))(3)


def test_every_dtype_goes_through(ops):
    for instance in ops.copy.definition.instances:
        from oxidax._dtypes import NUMPY

        dtype = NUMPY[instance.dtypes["x"]]
        x = np.arange(6).reshape(2, 3).astype(dtype)
        y = ops.copy(x)
        assert y.dtype == dtype
        np.testing.assert_array_equal(np.asarray(y), x)


def test_products_of_dtypes(ops):
    for t in (np.float32, np.float64):
        for i in (np.int32, np.int64):
            y = ops.take(np.arange(4, dtype=t), np.array([3, -4], i))
            assert y.dtype == t
            assert y.tolist() == [3, 0]


def test_several_results_are_a_named_tuple(ops):
    y, tenfold = result = ops.scale(x3, 2)
    assert result._fields == ("y", "tenfold")
    assert (y.tolist(), int(tenfold)) == ([2, 2, 2], 20)
    assert jax.tree.structure(result).num_leaves == 2


def test_empty_arrays(rms, ops):
    assert rms.rms_norm(jnp.ones((0, 3))).shape == (0, 3)
    assert rms.rms_norm(jnp.ones((2, 0))).shape == (2, 0)
    assert ops.matmul(jnp.ones((2, 0)), jnp.ones((0, 3))).tolist() == [[0] * 3] * 2
    assert ops.sum(jnp.ones((3, 0))).tolist() == [0, 0, 0]


def test_xla_does_not_call_for_results_without_elements(ops):
    with pytest.raises(jax.errors.JaxRuntimeError, match="fails: 1 and 1 elements"):
        ops.fails(np.ones(1, "float32")).block_until_ready()
    for shape in ((0,), (0, 3), (3, 0)):
        assert ops.fails(np.ones(shape, "float32")).block_until_ready().shape == shape


def test_disable_jit_works(rms):
    with jax.disable_jit():
        assert rms.rms_norm(x3).shape == (3,)
        assert jax.grad(lambda x: rms.rms_norm(x).sum())(x3).shape == (3,)


def test_operations_can_be_jitted_partially_applied_and_copied(rms):
    import copy
    import functools

    jitted = jax.jit(rms.rms_norm, static_argnames="eps")
    np.testing.assert_array_equal(jitted(x3, eps=0.5), rms.rms_norm(x3, eps=0.5))
    np.testing.assert_array_equal(jax.jit(functools.partial(rms.rms_norm, eps=0.5))(x3), rms.rms_norm(x3, eps=0.5))
    assert copy.deepcopy({"op": rms.rms_norm})["op"] is rms.rms_norm


def test_a_call_on_constants_inside_a_trace_is_one_custom_call_in_line(rms):
    text = jax.jit(lambda: rms.rms_norm(np.ones(3))).lower().as_text()
    assert text.count("custom_call") == 1
    assert text.count("func.func") == 1


ODD = [
    1, 2.5, True, None, "x", [1, 2], 1j, -1, 10**30, float("nan"), {}, object(), jnp.float32, "f32",
    np.float32(2), np.int64(3), np.array("a"), np.datetime64("2020"), np.ones(3, bool), np.ones(3, np.float16),
    np.ones(3, np.complex64), np.ones((0, 3)), np.ones((2, 3), np.float32), np.ones(3), np.arange(3, dtype=np.int32),
]  # fmt: skip


def test_no_call_fails_in_any_other_way(ops, lu):
    """Random arguments and keywords: a result, or one of the two errors that a user can expect."""
    import random

    random = random.Random(0)
    outcomes = set()
    for _ in range(600):
        operation = random.choice([*ops, *lu])
        args = [random.choice(ODD) for _ in range(len(operation.definition.arguments) + (random.random() < 0.05))]
        keywords = [name for name in operation.__signature__.parameters if random.random() < 0.5]
        kwargs = {name: random.choice(ODD) for name in keywords}
        try:
            jax.eval_shape(lambda o=operation, a=args, k=kwargs: o(*a, **k))
            outcomes.add("result")
        except oxidax.SignatureError as error:
            assert str(error).startswith(f"{operation.__name__}: ")  # noqa: PT017
            outcomes.add("error")
    assert outcomes == {"result", "error"}


def test_jax_debug_nans_names_the_operation(rms):
    x = jnp.asarray([jnp.nan, 1.0])
    with jax.debug_nans(True):
        rms.rms_norm(jnp.ones(3))
        for call in (rms.rms_norm, jax.jit(rms.rms_norm), jax.jit(lambda x: rms.rms_norm(x) + 1)):
            with pytest.raises(FloatingPointError, match=r"nan.* encountered in rms_norm"):
                call(x)
