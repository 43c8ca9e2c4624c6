"""The JSON of a library's manifest as typed, immutable data. Nothing here knows JAX or ctypes."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from oxidax._attributes import AttributeSpec, default_value
from oxidax._dtypes import NUMPY
from oxidax._errors import LoadError
from oxidax._shapes import Expr, bare_dim, names, show
from oxidax._shared_object import damaged

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Buffer:
    """An array parameter."""

    name: str
    role: str  # "argument", "inout" or "result"
    shape: tuple[Expr, ...]
    col_major: bool = False

    def split(self, shape: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The batch axes of an array for this parameter, and the axes behind them."""
        depth = len(shape) - len(self.shape)
        return tuple(shape[:depth]), tuple(shape[depth:])


@dataclass(frozen=True)
class Instance:
    """One combination of dtypes."""

    dtypes: dict[str, str]  # of the buffers
    attributes: dict[str, AttributeSpec]


@dataclass(frozen=True)
class Vjp:
    """The ids of the reverse-mode rules; without `fwd` the operation itself is the forward pass."""

    fwd: str | None
    bwd: str


@dataclass(frozen=True)
class Definition:
    """One `#[ffi_handler]` function."""

    id: str
    name: str
    target: str
    platform: str
    handler: int
    doc: str
    batch: str  # "each", "parallel", "whole" or "none"
    dims: tuple[str, ...]
    buffers: tuple[Buffer, ...]
    attributes: tuple[str, ...]
    require: tuple[tuple[Expr, str], ...]
    instances: tuple[Instance, ...]
    vjp: Vjp | None
    jvp: str | None
    drop_in: bool = False

    @cached_property
    def arguments(self) -> tuple[Buffer, ...]:
        """The operands, in order."""
        return tuple(b for b in self.buffers if b.role != "result")

    @cached_property
    def results(self) -> tuple[Buffer, ...]:
        """The results, in order."""
        return tuple(b for b in self.buffers if b.role != "argument")

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """How many axes each operand has besides the batch axes."""
        return tuple(len(b.shape) for b in self.arguments)

    @cached_property
    def aliases(self) -> dict[int, int]:
        """Operand to result, for each `InOut` parameter."""
        place = {b.name: i for i, b in enumerate(self.results)}
        return {i: place[b.name] for i, b in enumerate(self.arguments) if b.role == "inout"}

    @cached_property
    def layouts(self) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Whether columns come first, for each operand and for each result."""
        return tuple(b.col_major for b in self.arguments), tuple(b.col_major for b in self.results)

    @cached_property
    def _variants(self) -> dict[str, dict[int, str]]:
        specs = self.instances[0].attributes
        return {name: {number: variant for variant, number in spec.variants} for name, spec in specs.items()}

    def show(self, expr: Expr) -> str:
        """An expression as its author wrote it, with the names of variants."""
        return show(expr, self._variants)

    def show_attribute(self, name: str, value: Any) -> str:
        """An attribute as it is in shapes, with the name of a variant."""
        variant = self._variants.get(name, {}).get(value)
        return f"{name} = {value if variant is None else repr(variant)}"

    @cached_property
    def dim_keywords(self) -> tuple[str, ...]:
        """The dims to which only results give a name: keywords of the call."""
        bound = {bare_dim(axis) for b in self.arguments for axis in b.shape}
        free = [bare_dim(axis) for b in self.results for axis in b.shape]
        return tuple(dict.fromkeys(dim for dim in free if dim is not None and dim not in bound))

    @cached_property
    def shape_attributes(self) -> frozenset[str]:
        """The attributes that stand in shapes and requirements."""
        exprs = [axis for buffer in self.buffers for axis in buffer.shape]
        exprs += [condition for condition, _ in self.require]
        return frozenset(name for expr in exprs for name in names(expr, "attr"))

    @cached_property
    def dtype_result(self) -> str | None:
        """The result whose dtype the caller has to choose, because no argument decides it.

        Raises:
            LoadError: one choice would not be enough.
        """
        groups: dict[tuple[str, ...], list[Instance]] = {}
        for instance in self.instances:
            key = tuple(instance.dtypes[b.name] for b in self.arguments)
            groups.setdefault(key, []).append(instance)
        for group in groups.values():
            if len(group) == 1:
                continue
            for result in self.results:
                if len({instance.dtypes[result.name] for instance in group}) == len(group):
                    return result.name
            raise LoadError(
                f"{self.name}: neither its arguments nor the dtype of one result tell its instances apart; "
                "give each type parameter an argument, or write one function for each dtype"
            )
        return None

    @property
    def interface(self) -> tuple[Any, ...]:
        """What the handlers of one operation must agree on over its platforms."""
        return self.name, self.dims, self.buffers, self.attributes, self.require, self.instances


def parse(text: bytes, path: str) -> tuple[str, list[Definition]]:
    """Reads the JSON of a manifest: the panic strategy and the operations.

    Raises:
        LoadError: it is not the JSON that the version promises.
    """
    try:
        manifest = json.loads(text)
        panic = manifest["panic"]
        return panic, [_definition(operation) for operation in manifest["operations"]]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise damaged(path, error) from error


def _definition(op: dict[str, Any]) -> Definition:
    params = op["params"]
    buffers = tuple(
        Buffer(p["name"], p["role"], tuple(p["shape"]), p.get("layout") == "col_major")
        for p in params
        if p["role"] != "attribute"
    )
    attributes = tuple(p["name"] for p in params if p["role"] == "attribute")
    vjp = op["vjp"]
    return Definition(
        id=op["id"],
        name=op["name"],
        target=op["target"],
        platform=op["platform"],
        handler=op["handler"],
        doc=op["doc"],
        batch=op["batch"],
        dims=tuple(op["dims"]),
        buffers=buffers,
        attributes=attributes,
        require=tuple((condition, message) for condition, message in op["require"]),
        instances=tuple(_instance(row, buffers, attributes) for row in op["instances"]),
        vjp=None if vjp is None else Vjp(vjp["fwd"], vjp["bwd"]),
        jvp=op["jvp"],
        drop_in=op.get("drop_in", False),
    )


def _instance(row: dict[str, Any], buffers: tuple[Buffer, ...], attributes: tuple[str, ...]) -> Instance:
    dtypes = {b.name: row[b.name]["dtype"] for b in buffers}
    for name, dtype in dtypes.items():
        if dtype not in NUMPY:
            raise ValueError(f'parameter "{name}" has the unknown dtype {dtype}')
    return Instance(dtypes, {name: _attribute(name, row[name]) for name in attributes})


def _attribute(name: str, row: dict[str, Any]) -> AttributeSpec:
    variants = tuple((variant, number) for variant, number in row.get("variants", ()))
    spec = AttributeSpec(name, row["dtype"], row["form"], row["wire"], row["optional"], None, variants)
    return dataclasses.replace(spec, default=default_value(spec, row["default"]))
