"""Derivatives in both modes and every composition, against JAX's own of the same formula."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import oxidax


def rms_reference(x, eps=1e-5):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + eps)


def random(*shape):
    return jnp.asarray(np.random.default_rng(shape).standard_normal(shape))


def same(got, want):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11), got, want)


def test_both_modes(rms, ops):
    check_grads(rms.rms_norm, (random(2, 5),), order=1)
    check_grads(lambda x: rms.rms_norm(x, eps=0.3), (random(5),), order=1)
    check_grads(ops.matmul, (random(2, 3), random(3, 4)), order=1)
    check_grads(lambda a, x: ops.add_into(a, x) ** 2, (random(3), random(3)), order=1)
    check_grads(lambda x: ops.wave(x, frequency=1.5, amplitude=2.0), (random(),), order=1)
    check_grads(lambda x: ops.repeat(x, k=4) ** 2, (jnp.float32(0.5),), order=1, rtol=1e-2)


def test_second_order_where_rules_have_rules(ops):
    a, b = random(2, 3), random(3, 2)

    def check(transform):
        same(*[jax.jit(transform(lambda a, b, m=m: jnp.sin(m(a, b)).sum()))(a, b) for m in (ops.matmul, jnp.matmul)])

    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            if (outer, inner) != (jax.jacfwd, jax.jacfwd):  # a tangent of a tangent has no name of its own
                check(lambda f, outer=outer, inner=inner: outer(inner(f, (0, 1)), (0, 1)))
    check(lambda f: jax.grad(lambda a, b: (jax.grad(f)(a, b) ** 2).sum()))


def test_second_order_without_rules_names_the_rule_that_has_none(rms):
    with pytest.raises(TypeError, match=r"rms_norm_(fwd|bwd): has no derivative: add `vjp\(bwd = ..\)`"):
        jax.hessian(lambda x: rms.rms_norm(x).sum())(random(3))


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: jax.vmap(jax.grad(lambda x: jnp.sin(f(x)).sum())),
        lambda f: jax.grad(lambda x: jnp.sin(jax.vmap(f)(x)).sum()),
        lambda f: jax.vmap(jax.jacfwd(f)),
        lambda f: jax.vmap(jax.jacrev(f)),
        lambda f: jax.jacfwd(jax.vmap(f, 1, 1)),
        lambda f: jax.jacrev(jax.vmap(f, 1, 1)),
        lambda f: lambda x: jax.jvp(f, (x,), (jnp.cos(x),)),
        lambda f: lambda x: jax.linearize(f, x)[1](jnp.cos(x)),
        lambda f: lambda x: jax.vjp(f, x)[1](jnp.cos(x)),
        lambda f: jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c), f(2 * c).sum()), x, None, length=3)[1].sum()),
        lambda f: jax.jacfwd(lambda x: jax.lax.fori_loop(0, 3, lambda _, c: f(c + x), x)),
        lambda f: jax.grad(lambda x: jax.lax.cond(x.sum() > 0, f, lambda y: f(-y), x).sum() ** 2),
        lambda f: jax.grad(lambda x: jnp.sin(jax.checkpoint(f)(x)).sum()),
        lambda f: jax.grad(lambda x: jnp.sin(jax.checkpoint(lambda y: f(f(y) + y))(x)).sum()),
        lambda f: jax.jacfwd(lambda x: jax.lax.while_loop(lambda c: (c**2).sum() < 9, lambda c: c + f(c), x)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("compile_", [lambda f: f, jax.jit])
def test_compositions(rms, transform, compile_):
    x = random(4, 4)
    same(compile_(transform(rms.rms_norm))(x), compile_(transform(rms_reference))(x))


def test_reverse_mode_alone_works_wherever_reverse_mode_does(ops):
    x = random(4)
    cube, reference = jax.vmap(ops.cube), lambda x: x**3
    same(jax.grad(lambda x: ops.cube(x).sum())(x), 3 * x**2)
    same(jax.jacrev(cube)(x), jax.jacrev(reference)(x))
    same(jax.vmap(jax.grad(ops.cube))(x), 3 * x**2)
    scanned = lambda f: lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0].sum()  # noqa: E731
    same(jax.jit(jax.grad(scanned(ops.cube)))(x), jax.grad(scanned(reference))(x))
    same(jax.grad(lambda x: jax.checkpoint(ops.cube)(x).sum())(x), 3 * x**2)


def test_a_missing_mode_says_which_attribute_to_add(ops):
    with pytest.raises(TypeError, match=r"cube: has no forward-mode derivative: add `jvp = ..`"):
        jax.jvp(ops.cube, (1.0,), (1.0,))
    with pytest.raises(TypeError, match=r"cube: has no forward-mode derivative: add `jvp = ..`"):
        jax.jit(jax.jacfwd(ops.cube))(1.0)
    with pytest.raises(TypeError, match=r"square: has no reverse-mode derivative: add `vjp\(bwd = ..\)`"):
        jax.grad(ops.square)(1.0)
    with pytest.raises(TypeError, match=r"opposite: has no derivative: add `vjp\(bwd = ..\)` .* or `jvp = ..`"):
        jax.grad(ops.opposite)(1.0)


def test_forward_mode_alone(ops):
    assert jax.jvp(ops.square, (3.0,), (1.0,)) == (9, 6)
    same(jax.vmap(jax.jacfwd(ops.square))(random(3)), 2 * random(3))


def test_an_operation_without_rules_is_a_constant_where_nothing_depends_on_it(ops):
    same(jax.grad(lambda x: x * ops.opposite(jax.lax.stop_gradient(x)))(2.0), -2.0)
    same(jax.grad(lambda x: x * ops.opposite(3.0))(2.0), -3.0)
    index = jax.grad(lambda x: (x * ops.largest(x, dtype=jnp.int32)).sum())(jnp.array([1.0, 3.0]))
    same(index, jnp.ones(2))


def test_integers_have_float0_tangents(ops):
    x, k = random(3), jnp.int32(2)
    out, tangents = jax.jvp(ops.scale, (x, k), (x, np.zeros((), jax.dtypes.float0)))
    same(out.y, 2 * x)
    same(tangents.y, 2 * x)
    assert tangents.tenfold.dtype == jax.dtypes.float0
    _, pull = jax.vjp(ops.scale, x, k)
    ct_x, ct_k = pull(type(out)(x, np.zeros((), jax.dtypes.float0)))
    same(ct_x, 2 * x)
    assert ct_k.dtype == jax.dtypes.float0
    same(jax.grad(lambda x: ops.scale(x, k).y.sum())(x), jnp.full(3, 2.0))
    same(
        jax.vmap(jax.grad(lambda x, k: ops.scale(x, k).y.sum()), (None, 0))(x, jnp.arange(4, dtype=jnp.int32))[:, 0],
        jnp.arange(4.0),
    )


def test_a_gradient_has_the_shape_of_its_operand(ops):
    a, b = random(5, 1, 2, 3), random(4, 3, 2)
    ours = jax.grad(lambda a, b: jnp.sin(ops.matmul(a, b)).sum(), (0, 1))(a, b)
    same(ours, jax.grad(lambda a, b: jnp.sin(a @ b).sum(), (0, 1))(a, b))
    assert [g.shape for g in ours] == [a.shape, b.shape]
    a, x = random(3), random(2, 3)
    same(jax.grad(lambda a: jnp.sin(ops.add_into(a, x)).sum())(a), jax.grad(lambda a: jnp.sin(a + x).sum())(a))


def test_rules_that_see_fewer_batch_axes_than_the_operation(ops):
    k = jnp.arange(3, dtype=jnp.int32)
    same(jax.grad(lambda x: jnp.sin(ops.ignore(x, k)).sum())(2.0), 3 * jnp.cos(2.0))
    same(jax.jvp(lambda x: ops.ignore(x, k), (2.0,), (1.0,))[1], jnp.ones(3))
    same(jax.vmap(jax.grad(lambda x, k: ops.ignore(x, k)), (None, 0))(2.0, k), jnp.ones(3))
    same(jax.vmap(lambda x, k: jax.jvp(lambda x: ops.ignore(x, k), (x,), (1.0,))[1], (None, 0))(2.0, k), jnp.ones(3))
    nested = jax.grad(lambda x: jax.vmap(lambda x: ops.ignore(x, k), out_axes=1)(x).sum())
    same(nested(random(2)), jnp.full(2, 3.0))


def test_rules_are_told_the_sizes_that_their_inputs_do_not_have(ops):
    same(jax.grad(lambda x: ops.sum(x) ** 2)(jnp.arange(3.0)), jnp.full(3, 6.0))
    same(jax.vmap(jax.grad(ops.sum))(random(2, 3)), jnp.ones((2, 3)))
    same(jax.grad(lambda x: (ops.repeat(x, k=3) ** 2).sum())(jnp.float32(2)), jnp.float32(12))


def test_rules_get_the_attributes_that_they_name(ops):
    wave = lambda x: ops.wave(x, frequency=3.0, amplitude=2.0)  # noqa: E731
    same(jax.grad(wave)(0.7), 6 * jnp.cos(2.1))
    same(jax.jvp(wave, (0.7,), (1.0,))[1], 6 * jnp.cos(2.1))
    same(jax.jit(jax.vmap(jax.grad(wave)))(random(3)), 6 * jnp.cos(3 * random(3)))


def test_one_custom_call_a_rule(rms):
    gradient = jax.jit(jax.vmap(jax.grad(lambda x: rms.rms_norm(x).sum())))
    text = gradient.lower(random(2, 3)).as_text()
    assert text.count("custom_call @rms_norm.rms_norm_fwd") == 1
    assert text.count("custom_call @rms_norm.rms_norm_bwd") == 1
    assert text.count("custom_call") == 2


def test_only_what_the_rules_name_is_kept(rms):
    _, pull = jax.vjp(rms.rms_norm, random(2, 3))
    shapes = sorted(leaf.shape for leaf in jax.tree.leaves(pull) if hasattr(leaf, "shape") and leaf.size > 1)
    assert shapes == [(2,), (2, 3)]


def test_zero_tangents_are_not_kept(ops):
    a, b = random(2, 3), random(3, 40)
    _, pull = jax.vjp(lambda a: ops.matmul(a, b), a)
    leaves = [leaf for leaf in jax.tree.leaves(pull) if hasattr(leaf, "shape")]
    assert all(np.any(np.asarray(leaf)) for leaf in leaves)
    same(jax.jvp(lambda a: ops.matmul(a, b), (a,), (a,))[1], a @ b)
    same(jax.jvp(lambda b: jax.vmap(ops.matmul, (None, 1))(a, b), (b[:, None],), (b[:, None],))[1], (a @ b)[None])
    x = random(2, 3)
    same(jax.jvp(lambda x: ops.add_into(a, x), (x,), (x,))[1], x)
    same(jax.jvp(lambda x: ops.add_into(a[0], x), (x,), (x,))[1], x)


def test_single_and_double_precision(rms):
    for dtype in (jnp.float32, jnp.float64):
        assert jax.grad(lambda x: rms.rms_norm(x).sum())(jnp.ones(3, dtype)).dtype == dtype


def test_rules_of_other_shapes_are_refused(ops):
    x = jnp.ones(4)

    def refuses(call, what):
        with pytest.raises(oxidax.SignatureError, match=re.escape(what)):
            call()

    refuses(
        lambda: jax.grad(lambda x: ops.narrow(x).sum())(x),
        'narrow: rule narrow_bwd: result "ct_x": expected core dims (4,) as "x" has, got (1,)',
    )
    refuses(
        lambda: jax.jvp(ops.narrow, (x,), (x,)),
        'narrow: rule narrow_jvp: result "t_y": expected core dims (4,) as "y" has, got (1,)',
    )
    refuses(
        lambda: jax.grad(lambda x: ops.wide(x).sum())(x),
        'wide: rule wide_fwd: result "y": expected core dims (4,) as "y" has, got (8,)',
    )
