"""Rules that do not fit their operation: refused when the library is loaded, with the parameter's name."""

import c_library
import jax
import pytest
from c_library import operation

import oxidax


def refused(folder, *operations) -> str:
    with pytest.raises(oxidax.LoadError) as caught:
        oxidax.load(c_library.build(folder, *operations))
    return str(caught.value)


def op(params="x(n) -> y(n)", name="f", **rules):
    return operation(name, params, **rules)


BWD = {"vjp": {"fwd": None, "bwd": "c::b"}}
FWD = {"vjp": {"fwd": "c::g", "bwd": "c::b"}}
JVP = {"jvp": "c::j"}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("x(n) z(n) ct_y(n) -> ct_x(n)", 'f: bwd rule b: argument "z" is none of those that it can take: x, y, ct_y'),
        ("x() ct_y(n) -> ct_x(n)", 'argument "x": expected rank 1, as "x" has, got 0'),
        ("x(n) -> ct_x(n)", 'takes no "ct_y", so that the cotangent of "y" would be lost'),
        ("ct_y(n) -> x(n)", 'returns no "ct_x": add this result'),
        ("ct_y(n) -> ct_x(n) ct_z(n)", 'result "ct_z" is none of those that it can return: ct_x'),
        ("ct_y(n) -> ct_x(n,n)", 'result "ct_x": expected rank 1, as "x" has, got 2'),
        ("ct_y(n) -> ct_x(k)", 'dim "k" is in none of its inputs, nor a dim of f'),
    ],
)
def test_bwd(tmp_path, rule, message):
    assert message in refused(tmp_path, op(**BWD), op(rule, "b"))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("x(n) -> t_y(n)", 'f: jvp rule j: takes no "t_x"'),
        ("t_x(n) -> y(n)", 'returns no "t_y"'),
        ("x(n) ct_y(n) t_x(n) -> t_y(n)", 'argument "ct_y" is none of those that it can take: x, y, t_x'),
    ],
)
def test_jvp(tmp_path, rule, message):
    assert message in refused(tmp_path, op(**JVP), op(rule, "j"))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("z(n) -> y(n)", 'f: fwd rule g: argument 0: expected argument "x" of rank 1 as in f, got argument "z"'),
        ("x(n) z(n) -> y(n)", 'argument "z": f has no such input'),
        ("x(n) -> r() y(n)", 'result 0: expected result "y" of rank 1 as in f, got result "r" of rank 0'),
        ("x(n)! -> y(n)", 'expected argument "x" of rank 1 as in f, got inout "x"'),
        ("x(n) -> y(n) r(k)", 'f: fwd rule g: dim "k" is in none of its inputs, nor a dim of f'),
    ],
)
def test_fwd(tmp_path, rule, message):
    assert message in refused(tmp_path, op(**FWD), op(rule, "g"), op("ct_y(n) -> ct_x(n)", "b"))


def test_a_rule_that_is_not_in_the_library(tmp_path):
    assert "bwd rule c::b is not in the library" in refused(tmp_path, op(**BWD))


def test_ambiguous_names(tmp_path):
    inout = op("a(n)! ->", **BWD)
    message = refused(tmp_path, inout, op("a(n) ct_a(n)! ->", "b"))
    assert (
        'argument "a" is ambiguous, an input and a result: return it from fwd as a residual of another name' in message
    )
    residual = [op(**FWD), op("x(n) -> y(n) ct_y(n)", "g"), op("ct_y(n) -> ct_x(n)", "b")]
    assert '"ct_y" is ambiguous, a residual and the cotangent of y' in refused(tmp_path, *residual)
    second = [op(**JVP), op("x(n) t_x(n) -> t_y(n)", "j", jvp="c::jj"), op("x(n) t_x(n) t_t_x(n) -> t_t_y(n)", "jj")]
    message = refused(tmp_path, *second)
    assert 'j: jvp rule jj: argument "t_x" is ambiguous, an input and the tangent of x' in message
    assert "reverse mode" in message


def test_a_rule_needs_the_dtypes_of_its_operation(tmp_path):
    f = op(**BWD)
    f["instances"].append({name: {"dtype": "f64"} for name in f["instances"][0]})
    message = refused(tmp_path, f, op("ct_y(n) -> ct_x(n)", "b"))
    assert "f: bwd rule b: has no instance for (ct_y: f64, ct_x: f64): add the dtypes of f" in message


def attribute(row, name, dtype, **changes):
    row["params"].append({"name": name, "role": "attribute"})
    spec = {"dtype": dtype, "form": "scalar", "wire": None, "optional": False, "default": None, **changes}
    row["instances"][0][name] = spec
    return row


def test_a_rule_gets_the_attributes_of_its_operation(tmp_path):
    unknown = attribute(op("ct_y(n) -> ct_x(n)", "b"), "eps", "f64")
    assert 'attribute "eps" is none of f (it has none)' in refused(tmp_path, op(**BWD), unknown)
    other = attribute(op("ct_y(n) -> ct_x(n)", "b"), "eps", "f32")
    message = refused(tmp_path, attribute(op(**BWD), "eps", "f64"), other)
    assert 'attribute "eps": expected f64 as in f, got f32' in message
    default = attribute(op("ct_y(n) -> ct_x(n)", "b"), "own", "f64", optional=True, default=1.0)
    library = oxidax.load(c_library.build(tmp_path, op(**BWD), default))
    assert jax.grad(lambda x: library.f(x).sum())(jax.numpy.ones(2, "float32")).tolist() == [1, 1]


def test_two_keywords_of_one_name(tmp_path):
    twice = attribute(op("x() -> y(k)"), "k", "s64")
    assert "k would be two parameters of one call" in refused(tmp_path, twice)


def test_a_keyword_with_the_name_of_an_argument(tmp_path):
    assert "k would be two parameters of one call" in refused(tmp_path, op("k() -> y(k)"))


def test_instances_that_no_dtype_tells_apart(tmp_path):
    f = op("x() -> y() z()")
    f["instances"] = [
        {"x": {"dtype": "f32"}, "y": {"dtype": y}, "z": {"dtype": z}} for y in ("s32", "s64") for z in ("f32", "f64")
    ]
    assert "neither its arguments nor the dtype of one result tell its instances apart" in refused(tmp_path, f)
