"""Loading: what is refused and how, what is shared, and what a second library or a rebuilt one does."""

import pickle
import shutil

import c_library
import jax.numpy as jnp
import numpy as np
import pytest
from c_library import operation
from conftest import library_path

import oxidax
from oxidax import _library


def refused(path) -> str:
    with pytest.raises(oxidax.LoadError) as caught:
        oxidax.load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="cargo build"):
        oxidax.load(tmp_path / "nothing.so")


def test_files_that_are_not_ours_are_refused_without_opening_them(tmp_path):
    text = tmp_path / "text.so"
    text.write_text("oxidax_manifest")
    assert "not a shared library" in refused(text)
    assert "directory" in refused(tmp_path)
    empty = tmp_path / "empty.so"
    empty.touch()
    assert "empty" in refused(empty)
    archive = tmp_path / "lib.a"
    archive.write_bytes(b"!<arch>\noxidax_manifest")
    assert "cdylib" in refused(archive)
    import numpy.random.mtrand as other

    assert "does not export `oxidax_manifest`" in refused(other.__file__)
    cut = tmp_path / "cut.so"
    cut.write_bytes(library_path("rms_norm").read_bytes()[:5000])
    assert "damaged" in refused(cut)
    foreign = bytearray(library_path("rms_norm").read_bytes())
    foreign[18] = 183 if foreign[18] == 62 else 62
    (tmp_path / "foreign.so").write_bytes(foreign)
    assert "this machine is" in refused(tmp_path / "foreign.so")


def test_a_library_that_needs_a_missing_one_is_refused_with_the_reason(tmp_path):
    library = bytearray(c_library.build(tmp_path, operation("f", "x() -> y()")).read_bytes())
    assert b"libm.so.6" in library
    (tmp_path / "needs.so").write_bytes(library.replace(b"libm.so.6", b"libX.so.6"))
    assert "cannot be opened" in refused(tmp_path / "needs.so")


def test_the_version_is_read_before_anything_else(tmp_path):
    assert "upgrade it" in refused(c_library.build(tmp_path, version=2, text="not JSON"))
    assert "newer oxidax crate" in refused(c_library.build(tmp_path, version=0, text="not JSON"))


def test_a_library_whose_panics_abort_is_refused(tmp_path):
    assert 'panic = "abort"' in refused(c_library.build(tmp_path, panic="abort"))


def test_a_damaged_manifest_is_refused(tmp_path):
    assert "manifest is damaged" in refused(c_library.build(tmp_path, text="{"))
    assert "manifest is damaged" in refused(c_library.build(tmp_path, text='{"panic": "unwind"}'))
    bad = operation("bad_dtype", "x() -> y()")
    bad["instances"][0]["x"]["dtype"] = "f7"
    assert "unknown dtype f7" in refused(c_library.build(tmp_path, bad))
    wrong = operation("wrong_row", "x() -> y()")
    assert "no handler" in refused(c_library.build(tmp_path, {**wrong, "target": "c.x\\0y"}))


def test_a_handler_of_a_newer_ffi_version_is_refused_with_both_versions(tmp_path):
    message = refused(c_library.build(tmp_path, operation("newer", "x() -> y()"), api=(0, 99)))
    assert "needs XLA FFI 0.99" in message
    assert "has 0." in message


def test_two_operations_with_one_target_and_platform_are_refused(tmp_path):
    first = operation("one", "x() -> y()", target="c.same")
    second = operation("two", "x() -> y()", target="c.same")
    message = refused(c_library.build(tmp_path, first, second))
    assert "c::one and c::two have one target" in message


def test_handlers_of_two_platforms_are_one_operation(tmp_path):
    cpu = operation("both", "x(n) -> y(n)")
    library = oxidax.load(c_library.build(tmp_path, cpu, {**cpu, "id": "c::gpu::both", "platform": "cuda"}))
    assert len(library) == 1
    assert library.both.platforms == ("cpu", "cuda")
    assert library.both(jnp.ones(3, jnp.float32)).tolist() == [1, 1, 1]


def test_handlers_of_two_platforms_with_different_signatures_are_refused(tmp_path):
    cpu = operation("unequal", "x(n) -> y(n)")
    gpu = operation("unequal", "x(n) -> y()", id="c::gpu::unequal", platform="cuda")
    assert "signatures differ" in refused(c_library.build(tmp_path, cpu, gpu))


def test_an_operation_without_a_handler_for_the_platform_says_so(tmp_path):
    library = oxidax.load(c_library.build(tmp_path, operation("gpu_only", "x() -> y()", platform="cuda")))
    with pytest.raises(NotImplementedError, match="gpu_only: has a handler for cuda, and none for cpu"):
        library.gpu_only(jnp.float32(1))


def test_loading_a_file_again_gives_the_same_library(tmp_path, rms):
    assert oxidax.load(library_path("rms_norm")) is rms
    assert oxidax.load(str(library_path("rms_norm"))) is rms
    copy = shutil.copy(library_path("rms_norm"), tmp_path / "other_name.so")
    assert oxidax.load(copy) is rms
    link = tmp_path / "link.so"
    link.symlink_to(library_path("rms_norm"))
    assert oxidax.load(link) is rms


def test_a_library_shows_its_operations(rms):
    assert "rms_norm" in dir(rms)
    assert rms["rms_norm.rms_norm"] is rms.rms_norm is rms["rms_norm"]
    assert "rms_norm" in rms
    assert "librms_norm.so" in repr(rms)
    assert {operation.__name__ for operation in rms} >= {"rms_norm", "rms_norm_bwd"}
    with pytest.raises(AttributeError, match=r"has no operation rms_nrom; it has .*rms_norm"):
        rms.rms_nrom  # noqa: B018


def test_a_name_of_several_operations_asks_for_the_target(tmp_path):
    rows = [operation("same", "x() -> y()", id=f"c::{i}", target=f"c.same{i}") for i in (1, 2)]
    library = oxidax.load(c_library.build(tmp_path, *rows))
    assert library["c.same2"].target == "c.same2"
    with pytest.raises(AttributeError, match=r'choose one of "c.same1", "c.same2"'):
        library.same  # noqa: B018


def test_a_second_library_with_a_target_gets_a_private_name(tmp_path):
    one = oxidax.load(c_library.build(tmp_path, operation("twice", "x() -> y()"), name="one.so", fill=1))
    path = c_library.build(tmp_path, operation("twice", "x() -> y()"), name="two.so", fill=2)
    with pytest.warns(UserWarning, match=r"two.so brings targets that .*one.so registered before") as caught:
        two = oxidax.load(path)
    assert len(caught) == 1
    assert "exported programs should not hold" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert one.twice.target == "c.twice"
    assert two.twice.target.startswith("c.twice@")
    assert len(two.twice.target) == len("c.twice@") + 8
    assert (one.twice(jnp.float32(0)), two.twice(jnp.float32(0))) == (1, 2)


def test_a_rebuilt_library_runs_its_new_code(tmp_path):
    results = []
    for fill in (1, 2, 3):
        path = c_library.build(tmp_path, operation("rebuilt", "x() -> y()"), name="rebuilt.so", fill=fill)
        if fill == 1:
            library = oxidax.load(path)
        else:
            with pytest.warns(UserWarning, match="rebuilt.so"):
                library = oxidax.load(path)
        results.append(float(library.rebuilt(jnp.float32(0))))
    assert results == [1, 2, 3]
    assert float(oxidax.load(path).rebuilt(jnp.float32(0))) == 3


def test_a_library_that_was_moved_away_is_not_taken_for_the_one_in_its_place(tmp_path):
    first = c_library.build(tmp_path, operation("first", "x() -> y()"), name="place.so", fill=1)
    one = oxidax.load(first)
    first.rename(tmp_path / "away.so")
    two = oxidax.load(c_library.build(tmp_path, operation("second", "x() -> y()"), name="place.so", fill=2))
    assert float(one.first(jnp.float32(0))) == 1
    assert float(two.second(jnp.float32(0))) == 2
    assert oxidax.load(tmp_path / "away.so") is one


def test_a_file_that_was_overwritten_in_place_is_opened_and_reported(tmp_path, run_python):
    old = c_library.build(tmp_path, operation("old", "x() -> y()"), name="old.so", fill=1)
    new = c_library.build(tmp_path, operation("new", "x() -> y()"), name="new.so", fill=2)
    printed = run_python(
        """
        import sys, warnings, oxidax, jax.numpy as jnp
        oxidax.load(sys.argv[1])
        content = open(sys.argv[2], "rb").read()
        with open(sys.argv[1], "r+b") as file:
            file.write(content)
            file.truncate()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            library = oxidax.load(sys.argv[1])
        assert "was overwritten" in str(caught[0].message), caught
        print(library.new(jnp.float32(0)))
        """,
        old,
        new,
    )
    assert printed.strip() == "2.0"


def test_loading_starts_no_backend(run_python):
    printed = run_python(
        """
        import sys, oxidax, jax
        from jax._src import xla_bridge
        ops = oxidax.load(sys.argv[1])
        print(xla_bridge._backends)
        x = jax.numpy.arange(6.0)
        ops.rms_norm(x)
        assert xla_bridge._backends
        """,
        library_path("rms_norm"),
    )
    assert printed.strip() == "{}"


def test_the_backend_starts_when_a_target_was_taken_by_somebody_else(tmp_path, run_python):
    lapack = "lapack_spotrf_ffi"
    path = c_library.build(tmp_path, operation("taken", "x() -> y()", target=lapack), fill=3)
    printed = run_python(
        """
        import sys, warnings, oxidax, jax, jax.numpy as jnp
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ops = oxidax.load(sys.argv[1])
        assert "another package" in str(caught[0].message), caught
        assert jnp.linalg.cholesky(4 * jnp.eye(2))[0, 0] == 2
        print(ops.taken(jnp.float32(0)))
        """,
        path,
    )
    assert printed.strip() == "3.0"


def test_first_use_heals_a_queue_that_a_bad_handler_emptied(run_python):
    printed = run_python(
        """
        import ctypes, sys, oxidax, jax, jax.numpy as jnp
        bad = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda frame: None)  # tells no version
        jax.ffi.register_ffi_target("bad", jax.ffi.pycapsule(ctypes.cast(bad, ctypes.c_void_p).value))
        ops = oxidax.load(sys.argv[1])
        try:
            jax.devices()
        except RuntimeError as error:
            print("refused" if "bad" in str(error) else error)
        print(ops.rms_norm(jnp.ones(3)).shape)
        """,
        library_path("rms_norm"),
    )
    assert printed.split("\n")[:2] == ["refused", "(3,)"]


def test_a_handler_that_xla_refuses_is_an_error_of_its_first_use_with_both_versions(tmp_path, run_python):
    """It says 0.1 to `load`, and 0.99 to XLA; the others of its process are put back into the queue it spoilt."""
    path = c_library.build(tmp_path, operation("fickle", "x() -> y()"), api=(0, "asked++ ? 99 : 1"))
    printed = run_python(
        """
        import sys, oxidax, jax, jax.numpy as jnp
        fickle, rms = oxidax.load(sys.argv[1]).fickle, oxidax.load(sys.argv[2])
        try:
            jax.devices()
        except RuntimeError as error:
            assert "c.fickle" in str(error)
        for function in (fickle, jax.jit(fickle), jax.vmap(fickle)):
            try:
                function(jnp.ones(2, jnp.float32))
            except oxidax.LoadError as error:
                print(error)
        assert rms.rms_norm(jnp.ones(3)).shape == (3,)
        """,
        path,
        library_path("rms_norm"),
    )
    messages = printed.strip().split("\n")
    assert len(messages) == 3
    for message in messages:
        assert message.startswith('fickle: XLA refuses its handler "c.fickle" for cpu: ')
        assert "(handler: FFI API 0.99; jaxlib" in message
        assert message.endswith("): upgrade jax, or build the library with the oxidax crate")


def test_a_library_that_xla_refused_once_has_not_taken_its_own_targets(tmp_path, run_python):
    path = c_library.build(
        tmp_path, operation("first", "x() -> y()"), operation("second", "x() -> y()"), api=(0, "asked++ == 3 ? 99 : 1")
    )
    printed = run_python(
        """
        import sys, warnings, oxidax, jax, jax.numpy as jnp
        jax.devices()
        try:
            oxidax.load(sys.argv[1])
        except oxidax.LoadError as error:
            print(error)
        warnings.simplefilter("error")
        library = oxidax.load(sys.argv[1])
        print(library.first.target, library.second.target)
        """,
        path,
    )
    refused, targets = printed.strip().split("\n")
    assert 'XLA refuses the handler "c.second" for cpu' in refused
    assert targets == "c.first c.second"


def test_registration_for_a_platform_that_is_not_here_starts_nothing(tmp_path, run_python):
    printed = run_python(
        """
        import sys, oxidax
        from jax._src import xla_bridge
        print(oxidax.load(sys.argv[1]).gpu_only.platforms, xla_bridge._backends)
        """,
        c_library.build(tmp_path, operation("gpu_only", "x() -> y()", platform="cuda")),
    )
    assert printed.strip() == "('cuda',) {}"


def test_an_operation_is_documented(rms):
    import inspect

    assert str(inspect.signature(rms.rms_norm)) == "(x, /, *, eps=1e-05)"
    assert rms.rms_norm.__name__ == "rms_norm"
    for word in ("Root-mean-square", "f32 or f64 (..., n)", "eps: f64, default 1e-05", "rms_norm.rms_norm"):
        assert word in rms.rms_norm.__doc__
    assert "(n) -> (n)" in repr(rms.rms_norm)


def test_numpy_arrays_go_in_as_they_are(rms):
    x = np.arange(1.0, 5.0, dtype=np.float32)
    assert rms.rms_norm(x).dtype == np.float32
    assert rms.rms_norm(x.astype(np.float64)).dtype == np.float64


def test_operations_and_results_survive_a_pickle(rms, ops, tmp_path, run_python):
    assert pickle.loads(pickle.dumps(rms.rms_norm)) is rms.rms_norm
    assert pickle.loads(pickle.dumps(rms)) is rms
    results = ops.qr_shapes(jnp.ones((3, 2), jnp.float32), full=False)
    again = pickle.loads(pickle.dumps(results))
    assert type(again) is type(results)
    np.testing.assert_array_equal(again[0], results[0])
    (tmp_path / "work").write_bytes(pickle.dumps((rms.rms_norm, results)))
    printed = run_python(
        """
        import pathlib, pickle, sys
        operation, results = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())
        print(operation(results[0]).shape, type(results).__name__, sep="; ", end="")
        """,
        tmp_path / "work",
    )
    assert printed.split("; ") == [str(results[0].shape), "qr_shapes_result"]


def test_a_pickled_operation_that_is_no_more_says_so(rms):
    with pytest.raises(oxidax.LoadError, match="has no operation rms_norm::gone, which was pickled"):
        _library._operation(rms.__file__, "rms_norm::gone")
