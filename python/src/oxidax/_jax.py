"""Every JAX name on which the package relies; other files import JAX only through this one.

Public names first; then, each with its reason and its versions, what JAX does not document. The versions
are those on which the test suite ran.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.core import Tracer as Tracer
from jax.extend.backend import get_backend
from jax.extend.core import Primitive as Primitive
from jax.ffi import ffi_lowering, include_dir, register_ffi_target, register_ffi_target_as_batch_partitionable
from jax.interpreters import ad as ad
from jax.interpreters import batching as batching
from jax.interpreters import mlir as mlir
from jax.sharding import NamedSharding, PartitionSpec

Array = jax.Array
array = jnp.array
asarray = jnp.asarray
broadcast_in_dim = jax.lax.broadcast_in_dim
broadcast_to = jnp.broadcast_to
canonical_dtype = jax.dtypes.canonicalize_dtype
convert_element_type = jax.lax.convert_element_type
disable_jit = jax.disable_jit
eval_shape = jax.eval_shape
expand_dims = jax.lax.expand_dims
jit = jax.jit
jvp = jax.jvp
max_dim = jax.core.max_dim
min_dim = jax.core.min_dim
moveaxis = jnp.moveaxis
squeeze = jax.lax.squeeze
typeof = jax.typeof
vjp = jax.vjp
vmap = jax.vmap
RuntimeFailure = jax.errors.JaxRuntimeError
zeros = jnp.zeros
VERSION = tuple(int(part) for part in re.findall(r"\d+", jax.__version__)[:3])


def x64() -> bool:
    """Whether 64-bit types exist in this JAX."""
    return canonical_dtype(np.dtype(np.float64)) == np.float64


def is_key(dtype: Any) -> bool:
    """True for the dtype of typed PRNG keys and other extended dtypes."""
    return bool(jax.dtypes.issubdtype(dtype, jax.dtypes.extended))


def xla_platform(platform: str) -> str:
    """The name under which XLA registers handlers: with "cuda", they would wait in a queue for ever."""
    return "CUDA" if platform == "cuda" else platform


def register(target: str, capsules: dict[str, Any], platform: str) -> None:
    """Registers a handler; with a pointer that is registered already, nothing happens.

    Before the backend exists, JAX only keeps the handler in a queue.
    """
    register_ffi_target(target, capsules, platform=xla_platform(platform))


_partitionable: set[str] = set()


def make_partitionable(target: str) -> None:
    """Tells XLA that it may divide calls of this target along their batch axes; a second time, XLA logs an error."""
    if target not in _partitionable:
        _partitionable.add(target)
        register_ffi_target_as_batch_partitionable(target)


def export_check(target: str) -> Any:
    """What `jax.export` has to be told of a target that it does not know."""
    from jax import export  # imported with the first use, for it needs flatbuffers and, on 0.5, absl-py

    return export.DisabledSafetyCheck.custom_call(target)


def make_exportable(named_tuple: type, name: str) -> None:
    """Lets exported programs that return such a tuple be serialised; whoever reads them has loaded the library too."""
    try:
        from jax import export
    except ImportError:  # without absl-py on 0.5, where nothing can be exported
        return
    export.register_namedtuple_serialization(named_tuple, serialized_name=name)


def versions() -> tuple[str, str]:
    """The versions of jax and jaxlib."""
    import jaxlib.version

    return jax.__version__, jaxlib.version.__version__


def api_version() -> tuple[int, int] | None:
    """The FFI API version of the installed jaxlib, read from the header that it ships; None without a header."""
    try:
        text = (Path(include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    except OSError:
        return None
    found = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", text))
    return (int(found["MAJOR"]), int(found["MINOR"])) if len(found) == 2 else None


def show_version(version: tuple[int, int] | None) -> str:
    """An API version for people."""
    return "of an unknown version" if version is None else f"{version[0]}.{version[1]}"


def export_and_reload(
    function: Callable[..., Any], checks: Sequence[Any], shapes: Sequence[tuple[Any, ...]], like: Any
) -> Any:
    """The function after a round trip through `jax.export`: exported, serialized, read back.

    Args:
        function: to be exported, for the platform of the default backend.
        checks: what JAX is not to check, `Operation.export_checks`.
        shapes: of its operands; a string is a symbolic dim.
        like: arrays of the operands' dtypes.

    Raises:
        ImportError: `jax.export` lacks absl-py (on 0.5.3) or flatbuffers, which JAX does not ask for.
    """
    from jax import export

    scope = export.SymbolicScope()
    specs = []
    for shape, array in zip(shapes, like, strict=True):
        text = ", ".join(map(str, shape))
        dims = export.symbolic_shape(f"({text},)" if shape else "()", scope=scope)
        specs.append(jax.ShapeDtypeStruct(dims, array.dtype))
    exported = export.export(jax.jit(function), disabled_checks=checks)(*specs)
    return export.deserialize(exported.serialize()).call


def over_two_devices(
    function: Callable[..., Any], arrays: Sequence[Any], mapped: Sequence[bool]
) -> tuple[Any, bool] | None:
    """The results for operands whose first axes, where `mapped`, lie over two CPU devices; whether any is gathered.

    None where there is one device.
    """
    devices = jax.devices("cpu")[:2]
    if len(devices) < 2:
        return None
    mesh = jax.sharding.Mesh(np.array(devices), ("batch",))
    specs = [PartitionSpec("batch") if divided else PartitionSpec() for divided in mapped]
    placed = [jax.device_put(x, NamedSharding(mesh, spec)) for x, spec in zip(arrays, specs, strict=True)]
    program = jax.jit(function).lower(*placed).compile()
    return program(*placed), "all-gather" in program.as_text()


def start_backend(platform: str) -> bool:
    """Starts JAX's backends and says whether there is one for `platform`."""
    for _ in range(2):  # a handler that XLA refuses fails the first start, and only the first
        try:
            get_backend(platform)
        except RuntimeError:
            continue
        return True
    return False


# What JAX does not document ----------------------------------------------------------------------

# Moved from jax.core to jax.extend.core by 0.10.
InconclusiveDimensionOperation: type[Exception] = (
    getattr(jax.extend.core, "InconclusiveDimensionOperation", None) or jax.core.InconclusiveDimensionOperation
)


def unwrapped(value: Any) -> Any:
    """An array that JAX has wrapped, as an array.

    Under jit, 0.8.3 hands a NumPy array to a custom rule as `TypedNdArray`, which is no `jax.Array` and has no public
    name. Newer versions have the type too.
    """
    return asarray(value) if type(value).__name__ == "TypedNdArray" else value


def claimed_targets(platform: str) -> dict[str, Any]:
    """The targets that somebody has registered or queued for `platform`, without starting a backend.

    A name that comes twice in the queue makes the backend fail to start, for the whole process, so it has
    to be seen before. `jaxlib.xla_client.custom_call_targets` lists the registered ones; the queue is only
    in `_custom_callback` (0.5.3 to 0.12.0.1). Where they are gone, nothing is claimed.
    """
    try:
        from jaxlib import xla_client

        name = xla_client.xla_platform_names.get(platform, xla_platform(platform))
        found = dict(xla_client.custom_call_targets(name))
        found |= {row[0]: row[1] for row in xla_client._custom_callback.get(name, ())}
    except (ImportError, AttributeError, TypeError, RuntimeError, ValueError):
        return {}
    return found


def result_aval(like: Any | None, shape: tuple[Any, ...], dtype: np.dtype[Any], leading: tuple[Any, ...] = ()) -> Any:
    """The type of a result: varying axes and memory space from the operand `like`, its first axes divided as `leading`.

    `ShapedArray.update` and `.sharding` are undocumented (0.5.3 to 0.12.0.1). They let a result inherit what
    the version at hand knows of `shard_map`, under whichever name.
    """
    if like is None:
        return ShapedArray(shape, dtype)
    changes: dict[str, Any] = {"shape": shape, "dtype": dtype, "weak_type": False}
    sharding = getattr(like, "sharding", None)
    if sharding is not None:
        spec = PartitionSpec(*leading, *[None] * (len(shape) - len(leading)))
        changes["sharding"] = (
            sharding.update(spec=spec) if hasattr(sharding, "update") else NamedSharding(sharding.mesh, spec)
        )
    return like.update(**changes)


def on_mesh(avals: Sequence[Any]) -> Any | None:
    """The first of some types that has a mesh, else the first of all; None of none."""
    meshes = (getattr(getattr(aval, "sharding", None), "mesh", None) for aval in avals)
    known = (aval for aval, mesh in zip(avals, meshes, strict=True) if not getattr(mesh, "empty", True))
    return next(known, avals[0] if avals else None)


def leading_sharding(avals: Sequence[Any], cores: Sequence[int], batch: Sequence[Any]) -> tuple[Any, ...]:
    """How batch axes are divided, in the types of operands with so many other axes, on meshes with explicit axes.

    An axis is divided as in the first operand that divides it, and a mesh axis divides one.
    """
    leading: list[Any] = [None] * len(batch)
    taken: set[Any] = set()
    for aval, core in zip(avals, cores, strict=True):
        depth = len(aval.shape) - core
        spec = tuple(getattr(getattr(aval, "sharding", None), "spec", ()))[:depth]
        for axis, names in enumerate(spec, len(batch) - depth):
            parts = set(names) if isinstance(names, tuple) else {names} - {None}
            if leading[axis] is None and parts and not parts & taken:
                leading[axis] = names
                taken |= parts
    return tuple(leading)


def _varying(aval: Any) -> frozenset[Any]:
    """The manual axes over which a value varies: none on 0.5, `vma` to 0.9, then `manual_axis_type`."""
    manual = getattr(aval, "manual_axis_type", None)
    return frozenset(getattr(aval, "vma", ()) if manual is None else manual.varying)


def vary_together(arrays: Iterable[Any]) -> list[Any]:
    """Makes all operands vary over the union of their manual axes, as `shard_map` asks of one call."""
    arrays = list(arrays)
    axes = [_varying(typeof(array)) for array in arrays]
    union = frozenset().union(*axes)
    if not union:
        return arrays
    return [_vary(a, union - own) if union - own else a for a, own in zip(arrays, axes, strict=True)]


def _vary(array: Any, axes: frozenset[Any]) -> Any:
    if hasattr(jax.lax, "pcast"):  # 0.8 and newer
        return jax.lax.pcast(array, tuple(axes), to="varying")
    return jax.lax.pvary(array, tuple(axes))  # 0.6 and 0.7


def prepare_for_shard_map(primitive: Primitive) -> None:
    """Gives `shard_map` on 0.5 the standard rules, which newer versions need not be told."""
    if VERSION < (0, 6):
        from jax.experimental import shard_map

        shard_map.register_standard_check(primitive)
        shard_map.register_standard_rewrite(primitive)


def zero_tangent(primal: Any) -> ad.Zero:
    """The zero tangent of a value: float0 for integers. `from_primal_value` is gone by 0.10."""
    if hasattr(ad.Zero, "from_primal_value"):
        return ad.Zero.from_primal_value(primal)
    return ad.Zero(typeof(primal).to_tangent_aval())


def register_lowering(primitive: Primitive, rules: dict[str, Callable[..., Any]]) -> None:
    """Registers one lowering rule a platform; the key "" is the rule of all other platforms."""
    for platform, rule in rules.items():
        mlir.register_lowering(primitive, rule, platform=platform or None)


def device_count(ctx: Any) -> int:
    """Among how many devices XLA divides the program that is lowered; 1 where JAX does not say, as in `shard_map`."""
    return int(getattr(ctx.module_context.axis_context, "num_devices", 1))


def lower_by(function: Callable[..., list[Any]], ctx: Any, operands: Sequence[Any], results: Sequence[Any]) -> Any:
    """Lowers a function of JAX's; `results` are the types of what it returns."""
    return mlir.lower_fun(function, multiple_results=True)(ctx.replace(avals_out=list(results)), *operands)


def batch_partition(axes: int, rule: str) -> dict[str, Any]:
    """The attributes of a call that XLA may divide along so many leading axes; `rule` is Shardy's.

    `num_batch_dims` is what JAX's own linear algebra tells XLA (0.5.3 to 0.12.0.1).
    """
    number = mlir.ir.StringAttr.get(str(axes))
    attributes = {"mhlo.frontend_attributes": mlir.ir.DictAttr.get({"num_batch_dims": number})}
    if getattr(jax.config, "jax_use_shardy_partitioner", True):
        attributes["sdy.sharding_rule"] = mlir.ir.Attribute.parse(rule)
    return attributes


def custom_call(
    target: str,
    attributes: dict[str, Any],
    aliases: dict[int, int],
    col_major: tuple[Sequence[bool], Sequence[bool]],
    ctx: Any,
    operands: Sequence[Any],
    extra: dict[str, Any],
) -> Any:
    """Lowers to one custom call, row-major but for the operands and results that `col_major` names.

    `extra` is what XLA is told of the call, and the handler is not. `operand_output_aliases` and `extra_attributes` are
    keywords of `mlir.custom_call` that `ffi_lowering` passes on. Attributes go in by `backend_config` where
    `mlir.ir_attribute` is public (not on 0.5), so that one may be called "ctx".
    """
    options: dict[str, Any] = {"operand_output_aliases": aliases} if aliases else {}
    if extra:
        options["extra_attributes"] = extra
    for key, avals, columns in zip(
        ("operand_layouts", "result_layouts"), (ctx.avals_in, ctx.avals_out), col_major, strict=True
    ):
        if any(columns):
            options[key] = [_layout(aval.shape, first) for aval, first in zip(avals, columns, strict=True)]
    if hasattr(mlir, "ir_attribute"):
        options["backend_config"] = {k: mlir.ir_attribute(v) for k, v in attributes.items()}
        attributes = {}
    return ffi_lowering(target, **options)(ctx, *operands, **attributes)


def _layout(shape: Sequence[Any], columns_first: bool) -> tuple[int, ...]:
    """The axes from the one whose elements lie together to the outermost."""
    order = list(reversed(range(len(shape))))
    # XLA of jaxlib 0.12.0.1 divides by zero where it transposes an array of no elements, which have no order.
    if columns_first and not any(isinstance(size, int) and size == 0 for size in shape):
        order[:2] = reversed(order[:2])
    return tuple(order)


def name_as_primitive(function: Any, name: str) -> None:
    """Makes `jax_debug_nans` name the operation in its error.

    JAX looks for this mark of its own eager calls, on every supported version; without it, it would evaluate the
    function once more to find the operation in it, which is itself.
    """
    function._apply_primitive = True
    function.__name__ = function.__qualname__ = name
