"""The moments at which the kernels can be installed, and what is said at others."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jax
import pytest

import oxidax_kernels
from oxidax_kernels import _contracts, _install, _jaxlib, _library, _plugin

#: How many targets are ours on this jaxlib.
COUNT = len(frozenset(_contracts.TARGETS) - _contracts.later_than(_jaxlib.version()))

# A stock kernel never returns from this matrix, and ours does. So a wrong process would run into its limit.
OURS = """
import jax.numpy as jnp, numpy as np
assert np.isnan(jnp.linalg.svd(jnp.ones((3, 3)).at[0, 0].set(jnp.inf))[1]).all()
import jax.experimental.sparse  # asks for a handler of its own; the backend has started
from oxidax_kernels import _jaxlib, _library
registered = _jaxlib.registered()
import oxidax_kernels
ours = {t: _library.handlers()[t].stages["execute"] for t in oxidax_kernels.installed()}
assert len(ours) > 20 and {t: registered[t] for t in ours} == ours
"""
STOCK = """
import jax.numpy as jnp, numpy as np
x = np.array([[4.0, 2.0], [2.0, 3.0]])
np.testing.assert_allclose(jnp.linalg.cholesky(x), np.linalg.cholesky(x))
import oxidax_kernels
from oxidax_kernels import _jaxlib
import jax.experimental.sparse
registered = _jaxlib.registered()
assert all(registered.get(t) != h.stages["execute"] for t, h in oxidax_kernels._library.handlers().items())
assert oxidax_kernels.installed() == ()
"""


def test_before_jax_is_imported_which_does_not_import_it(run_python):
    run_python(
        f"""
import sys, oxidax_kernels
assert len(oxidax_kernels.install()) == {COUNT} and "jax" not in sys.modules
assert oxidax_kernels.installed() == oxidax_kernels.install()
import jax
assert len(oxidax_kernels.installed()) == {COUNT}
{OURS}
assert len(oxidax_kernels.installed()) == {COUNT} == len(oxidax_kernels.install())
"""
    )


def test_after_jax_is_imported(run_python):
    run_python(f"import jax, oxidax_kernels\nassert len(oxidax_kernels.install()) == {COUNT}\n{OURS}")


def test_after_the_backend_has_started_an_error_says_what_to_do(run_python):
    printed = run_python("import jax, oxidax_kernels\njax.devices()\noxidax_kernels.install()", expect=1)
    assert "RuntimeError: a JAX backend has started" in printed
    assert "before the first JAX computation" in printed
    assert "OXIDAX_KERNELS=1" in printed


def test_a_settled_choice_may_be_repeated_but_not_changed():
    jax.devices()
    assert oxidax_kernels.install() == oxidax_kernels.installed()
    with pytest.raises(RuntimeError, match=r"lapack_dgesdd_ffi, .* stays replaced"):
        oxidax_kernels.install(skip="svd")
    with pytest.raises(RuntimeError, match="start a new process"):
        oxidax_kernels.uninstall()


@pytest.mark.parametrize("moment", ["import oxidax_kernels", "import jax, oxidax_kernels"])
def test_uninstalled_again(run_python, moment):
    run_python(f"{moment}\noxidax_kernels.install()\noxidax_kernels.uninstall()\noxidax_kernels.uninstall()\n{STOCK}")
    run_python(f"{moment}\noxidax_kernels.install()\nimport jax\noxidax_kernels.uninstall()\n{STOCK}")


@pytest.mark.parametrize("moment", ["import oxidax_kernels", "import jax, oxidax_kernels"])
def test_the_last_choice_counts(run_python, moment):
    printed = run_python(
        f"""
{moment}
oxidax_kernels.install()
oxidax_kernels.install(only="lu", skip=["zgetrf", "lapack_cgetrf_ffi"])
import jax
jax.devices()
print(*oxidax_kernels.installed())
"""
    )
    assert printed.split() == ["lapack_dgetrf_ffi", "lapack_sgetrf_ffi"]


def test_names_are_checked():
    assert _contracts.select(only=["cholesky", "dgeev"], skip="cpotrf") == {
        "lapack_spotrf_ffi", "lapack_dpotrf_ffi", "lapack_zpotrf_ffi", "lapack_dgeev_ffi",
    }  # fmt: skip
    assert _contracts.select() == frozenset(_contracts.TARGETS) == set(_library.handlers())
    with pytest.raises(ValueError, match=r"only: .*'choleski'; did you mean 'cholesky'"):
        oxidax_kernels.install(only=["choleski"])
    with pytest.raises(ValueError, match=r"skip: .*'42'; operations are cholesky, lu, qr, svd, eig"):
        oxidax_kernels.install(skip="42")


SPARSE = "cpu_csr_sparse_dense_ffi"
needs_sparse = pytest.mark.skipif(SPARSE not in _jaxlib.stock(), reason=f"this jaxlib has no {SPARSE}")


@needs_sparse
@pytest.mark.parametrize(
    "moments",
    [
        "INSTALL; import jax.experimental.sparse",
        "INSTALL; import jax; jax.devices(); import jax.experimental.sparse",
        "import jax; INSTALL; import jax.experimental.sparse; jax.devices()",
        "import jax.experimental.sparse; INSTALL; jax.devices()",
        "import jax; jax.devices(); INSTALL; import jax.experimental.sparse",
    ],
)
def test_the_sparse_target_is_asked_for_at_another_moment(run_python, moments):
    printed = run_python(
        f"""
import oxidax_kernels
{moments.replace("INSTALL", "oxidax_kernels.install(only='sparse')")}
from oxidax_kernels import _jaxlib, _library
assert _jaxlib.registered()["{SPARSE}"] == _library.handlers()["{SPARSE}"].stages["execute"]
import numpy as np
a = jax.experimental.sparse.BCSR.fromdense(np.float32([[1, 0, 2], [0, 0, 3]]))
print(*(a @ np.float32([1, 10, 100])), *oxidax_kernels.installed())
"""
    )
    assert printed == f"201.0 300.0 {SPARSE}\n"


@needs_sparse
def test_what_jax_has_not_asked_for_can_be_chosen_after_the_backend_has_started(run_python):
    printed = run_python(
        """
import jax, oxidax_kernels
jax.devices()
print(*oxidax_kernels.install(only="sparse"))
oxidax_kernels.uninstall()
print(*oxidax_kernels.installed())
print(*oxidax_kernels.install(only="sparse"))
import jax.experimental.sparse
try:
    oxidax_kernels.uninstall()
except RuntimeError as error:
    print(*oxidax_kernels.installed(), error)
"""
    )
    first, nothing, again, refused = printed.splitlines()
    assert (first, nothing, again) == (SPARSE, "", SPARSE)
    assert refused.startswith(f"{SPARSE} a JAX backend has started")


def test_targets_that_came_later_are_left_alone_and_only_missed_by_name(run_python):
    code = """
import warnings, jaxlib.version
jaxlib.version.__version__ = "0.6.0"
import oxidax_kernels
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert oxidax_kernels.install({only})
print(*oxidax_kernels.installed(), *(warning.message for warning in caught))
"""
    printed = run_python(code.format(only=""))
    assert "lapack_dgtsv_ffi" in printed
    for target in ("trsm", "ormqr", "unmqr", "perturbed", "sparse", "not taken"):
        assert target not in printed
    printed = run_python(code.format(only="['lu', 'dtrsm', 'sparse']"))
    assert f"{SPARSE}, lapack_dtrsm_ffi: not taken, jaxlib 0.6.0 lacks it or has another contract" in printed


def test_a_jaxlib_that_is_not_known_stays_stock(run_python):
    code = """
import warnings, jaxlib.version
jaxlib.version.__version__ = "{version}"
import oxidax_kernels
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert oxidax_kernels.install() == ()
print(caught[0].message, caught[0].filename)
"""
    for version in ("0.5.2", "0.99.0", "1.0"):
        assert f"and this is {version}: everything stays jaxlib's own" in run_python(code.format(version=version))


def test_targets_that_jaxlib_lacks_or_another_package_has_replaced_are_left_alone(run_python):
    printed = run_python(
        """
import warnings
from jaxlib import lapack
from oxidax_kernels import _jaxlib
stock = lapack.registrations
gone = lambda: {"cpu": [row for row in stock()["cpu"] if row[0] != "lapack_zgeev_ffi"]}
_jaxlib._stock_registrations[lapack] = lapack.registrations = gone
import jax, oxidax_kernels
from jaxlib import xla_client
queue = xla_client._custom_callback["Host"]
place = [row[0] for row in queue].index("lapack_dpotrf_ffi")
handlers = {row[0]: row[1] for row in queue}
queue[place] = ("lapack_dpotrf_ffi", handlers["lapack_spotrf_ffi"], *queue[place][2:])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(len(oxidax_kernels.install()))
print(*(warning.message for warning in caught), sep="\\n")
"""
    )
    assert printed.splitlines()[0] == str(COUNT - 2)
    assert "has no lapack_zgeev_ffi" in printed
    assert "another package has replaced lapack_dpotrf_ffi" in printed


@pytest.fixture
def plugin(tmp_path):
    """A folder for the path that tells JAX of the entry point, as an installed wheel does."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    [(name, value)] = tomllib.loads(text)["project"]["entry-points"]["jax_plugins"].items()
    folder = tmp_path / "oxidax_kernels_test-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: oxidax_kernels_test\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(f"[jax_plugins]\n{name} = {value}\n")
    return tmp_path


def test_the_environment_variable_serves_programs_that_know_nothing_of_us(run_python, plugin):
    run_python(OURS, path=plugin, OXIDAX_KERNELS="1")
    run_python(STOCK, path=plugin)
    run_python(STOCK, path=plugin, OXIDAX_KERNELS="0")
    show = "import jax; jax.devices(); import oxidax_kernels; print(*oxidax_kernels.installed())"
    assert run_python(show, path=plugin, OXIDAX_KERNELS="dpotrf, dgetrf, -dgetrf").split() == ["lapack_dpotrf_ffi"]
    assert len(run_python(show, path=plugin, OXIDAX_KERNELS="-eig").split()) == COUNT - 4


def test_a_program_that_chooses_outdoes_the_variable(run_python, plugin):
    run_python(f"import oxidax_kernels\noxidax_kernels.uninstall()\n{STOCK}", path=plugin, OXIDAX_KERNELS="1")


def test_a_wrong_variable_is_reported_and_leaves_jax_at_work(run_python, plugin):
    code = f"import os\nos.dup2(1, 2)\n{STOCK}"
    assert "no operation, routine or target 'cholesk'" in run_python(code, path=plugin, OXIDAX_KERNELS="cholesk")


def test_the_variables_values():
    assert _plugin.request("") is _plugin.request("0") is _plugin.request(" , ") is None
    assert _plugin.request("1") == {"only": None, "skip": None}
    assert _plugin.request("svd, eig") == {"only": ["svd", "eig"], "skip": []}
    assert _plugin.request("-svd") == {"only": None, "skip": ["svd"]}


def test_threads_that_install_while_others_import_jax(run_python):
    run_python(
        f"""
import threading, oxidax_kernels
start = threading.Barrier(8)
def work(i):
    start.wait()
    if i % 2:
        import jax
    else:
        oxidax_kernels.install()
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
{OURS}
"""
    )


def test_a_missing_library_is_named(run_python, tmp_path):
    printed = run_python(
        "import oxidax_kernels; oxidax_kernels.install()", OXIDAX_KERNELS_LIBRARY=str(tmp_path / "no.so"), expect=1
    )
    assert "FileNotFoundError: the variable OXIDAX_KERNELS_LIBRARY names" in printed
    assert "cargo build --release -p oxidax-kernels" in printed
    printed = run_python(
        "import oxidax_kernels; oxidax_kernels.uninstall(); import jax; jax.devices(); oxidax_kernels.uninstall()\n"
        "print(oxidax_kernels.installed())",
        OXIDAX_KERNELS_LIBRARY=str(tmp_path / "no.so"),
    )
    assert printed.strip() == "()"


def test_everything_is_installed_here():
    assert _install.installed() == tuple(sorted(set(_contracts.TARGETS) - _contracts.later_than(_jaxlib.version())))
    assert len(_install.installed()) == COUNT
    assert _jaxlib.version() >= (0, 5, 3)
