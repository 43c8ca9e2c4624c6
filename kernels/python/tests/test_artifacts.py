"""Exported programs: those that JAX keeps to test itself, and ones from a process with jaxlib's kernels.

They hold target names, and run here without a process ever lowering a linear-algebra operation.
"""

from __future__ import annotations

import pytest

from oxidax_kernels import _contracts, _jaxlib

# Fails on any lowering of an operation, and keeps jaxlib's kernels from finding their LAPACK.
NO_LOWERING = """
import oxidax_kernels
assert oxidax_kernels.install()
from jaxlib import lapack
def refuse(*_): raise AssertionError("a linear-algebra operation was lowered")
lapack.prepare_lapack_call = refuse
lapack._lapack.initialize = lambda: None
import numpy as np, jax
"""

BACK_COMPAT = """
import importlib, pkgutil
from matrices import adjoint, hessenberg, tridiagonal
from jax._src.internal_test_util import export_back_compat_test_data as folder
from jax._src.internal_test_util import export_back_compat_test_util as util

class Runner(util.CompatTestBase): pass

def artifacts(value):
    if isinstance(value, dict) and "mlir_module_serialized" in value:
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from artifacts(item)

def check(targets, inputs, found, expected):
    assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in expected]
    routine = targets[0].removeprefix("lapack_")[1:].removesuffix("_ffi")
    eps = np.finfo(expected[0].dtype).eps
    close = lambda x, y, scale=1: np.testing.assert_allclose(x, y, rtol=0, atol=100 * eps * scale * np.abs(y).max())
    if routine == "gesdd":  # vectors are unique up to a phase
        (u, s, vh), k = found[-3:], found[-2].shape[-1]
        close(s, expected[-2])
        close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], inputs[0])
    elif routine == "geev":  # of a matrix whose eigenvalues are sensitive
        close(np.sort_complex(found[0]), np.sort_complex(expected[0]), 100)
    elif routine == "geqrf":
        q, r = found
        close(q @ r, expected[0] @ expected[1])
        close(np.abs(r), np.abs(expected[1]))
    elif routine in ("syevd", "heevd"):  # their inputs are not kept, but follow from the results
        matrix = lambda v, w: (v * w[..., None, :]) @ adjoint(v)
        close(matrix(*found), matrix(*expected))
        close(found[1], expected[1])
    elif routine == "gees":
        t, vs = found
        close(vs @ t @ adjoint(vs), inputs[0])
        close(adjoint(vs) @ vs, np.eye(len(vs)))
    elif routine in ("gehrd", "sytrd", "hetrd"):
        reduced = hessenberg if routine == "gehrd" else tridiagonal
        matrix = lambda q, h: q @ h @ adjoint(q)
        close(matrix(*reduced(*found)), matrix(*reduced(*expected)))
    else:
        for x, y in zip(found, expected):
            close(x, y)

seen = {}
for module in pkgutil.iter_modules(folder.__path__):
    if not module.name.startswith("cpu_"):
        continue
    for artifact in artifacts(vars(importlib.import_module(f"{folder.__name__}.{module.name}"))):
        targets = artifact["custom_call_targets"]
        if not targets or not set(targets) <= set(oxidax_kernels.installed()):
            continue
        fields = util.CompatTestData.__annotations__.keys() & artifact.keys()
        data = util.CompatTestData(**{name: artifact[name] for name in fields})
        found = [np.asarray(x) for x in jax.tree.leaves(Runner("run_serialized").run_serialized(data))]
        check(targets, artifact["inputs"], found, [np.asarray(x) for x in artifact["expected_outputs"]])
        seen |= dict.fromkeys(targets)
# JAX promises nothing of these in exported programs, and keeps none.
others = ("geqp3", "ormqr", "unmqr", "gesvd", "tridiagonal_solve_perturbed", "cpu_csr_sparse_dense")
assert set(seen) == {target for target in oxidax_kernels.installed() if not any(name in target for name in others)}
print(*sorted(seen))
"""


def test_programs_that_older_versions_of_jax_exported(run_python):
    pytest.importorskip(
        "jax._src.internal_test_util.export_back_compat_test_data", reason="this jax is installed without them"
    )
    assert len(run_python(NO_LOWERING + BACK_COMPAT).split()) == 48


EXPORT = """
import pathlib, sys, jax, jax.numpy as jnp
from jax import export
functions = {
    "cholesky": lambda x: jnp.linalg.cholesky(x @ x.mT + jnp.eye(5)), "lu": lambda x: jax.lax.linalg.lu(x)[0],
    "qr": lambda x: jnp.linalg.qr(x)[1], "svd": lambda x: jnp.linalg.svd(x)[1], "eig": lambda x: jnp.linalg.eig(x)[0],
    "triangular_solve": lambda x: jax.lax.linalg.triangular_solve(x, x, left_side=True, lower=True),
    "tridiagonal_solve": lambda x: jax.lax.linalg.tridiagonal_solve(x[:, 0], x[:, 1] + 9, x[:, 2], x),
}
from oxidax_kernels import _contracts, _jaxlib
if "lapack_dtrsm_ffi" in _contracts.later_than(_jaxlib.version()):
    del functions["triangular_solve"]  # which stays jaxlib's
batch, = export.symbolic_shape("b")
for name, function in functions.items():
    exported = export.export(jax.jit(function))(jax.ShapeDtypeStruct((batch, 5, 5), jnp.float64))
    pathlib.Path(sys.argv[1], name).write_bytes(exported.serialize())
"""

CALL = """
import pathlib, sys
from jax import export
x = np.random.default_rng(0).standard_normal((3, 5, 5))
references = {
    "cholesky": np.linalg.cholesky(x @ x.transpose(0, 2, 1) + np.eye(5)),
    "qr": abs(np.linalg.qr(x)[1]), "svd": np.linalg.svd(x)[1], "eig": np.sort_complex(np.linalg.eig(x)[0]),
    "triangular_solve": np.linalg.solve(np.tril(x), x),
    "tridiagonal_solve": np.linalg.solve(
        np.stack([np.diag(y[1] + 9) + np.diag(y[0, 1:], -1) + np.diag(y[2, :-1], 1) for y in x]), x
    ),
}
finish = {"qr": abs, "eig": lambda w: np.sort_complex(np.asarray(w))}
for path in pathlib.Path(sys.argv[1]).iterdir():
    found = export.deserialize(bytearray(path.read_bytes())).call(x)
    if path.name in references:
        found = finish.get(path.name, lambda x: x)(found)
        np.testing.assert_allclose(found, references[path.name], rtol=1e-10, atol=1e-12)
"""


def test_programs_exported_on_jaxlibs_kernels_for_any_batch(run_python, tmp_path):
    run_python(EXPORT, tmp_path)
    later = _contracts.later_than(_jaxlib.version())
    assert len(list(tmp_path.iterdir())) == 7 - ("lapack_dtrsm_ffi" in later)
    run_python(NO_LOWERING + CALL, tmp_path)
