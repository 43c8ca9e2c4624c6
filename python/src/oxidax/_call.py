"""Checks one call against the signature: all its mistakes are found before any is reported.

What comes out is what the primitive takes: arrays of the declared dtypes, and parameters.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oxidax import _jax
from oxidax._attributes import Mismatch, Value, cast_scalar
from oxidax._dtypes import COMPLEX, FLOATS, NAMES, NUMPY, name_of
from oxidax._errors import SignatureError, one_of
from oxidax._inference import infer, label
from oxidax._manifest import Definition
from oxidax._shapes import Size, is_symbolic


@dataclass(frozen=True)
class Operand:
    """One operand of a call as it came."""

    value: Any
    shape: tuple[Size, ...]
    dtype: str | None  # None: a Python scalar or a weakly typed one, which takes the declared dtype
    kind: str = ""  # of such a scalar: "bool", "int", "float" or "complex"


@dataclass(frozen=True)
class Call:
    """A call without mistakes."""

    operands: list[Any]
    instance: int
    sizes: tuple[tuple[str, Size], ...]
    attributes: tuple[tuple[str, Value], ...]

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the primitive."""
        return {"instance": self.instance, "sizes": self.sizes, "attributes": self.attributes}


def check(definition: Definition, keywords: Mapping[str, str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
    """Checks a call.

    Args:
        definition: the operation.
        keywords: from each accepted keyword to the name in the manifest.
        args: the operands.
        kwargs: attributes, keyword dims and `dtype`.

    Raises:
        SignatureError: with all mistakes.
    """
    mistakes: list[str] = []
    given = _keywords(definition, keywords, kwargs, mistakes)
    operands = _operands(definition, args, mistakes)
    instance = _choose_instance(definition, operands, given, mistakes)
    dims = _keyword_dims(definition, given, mistakes)
    attributes = _cast_attributes(definition, instance, given, mistakes)
    values = {name: attributes[name].in_shape() for name in definition.shape_attributes if name in attributes}
    if len(operands) == len(definition.arguments):
        shapes = [None if operand is None else operand.shape for operand in operands]
        mistakes += infer(definition, shapes, dims, values).mistakes
    if not mistakes:
        assert instance is not None
        arrays = _converted(definition, operands, instance, mistakes)
        if not mistakes:
            return Call(arrays, instance, tuple(dims.items()), tuple(attributes.items()))
    raise SignatureError(definition.name, mistakes)


def _keywords(
    definition: Definition, keywords: Mapping[str, str], kwargs: Mapping[str, Any], mistakes: list[str]
) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for keyword, value in kwargs.items():
        if keyword in keywords:
            given[keywords[keyword]] = value
        elif any(keyword == buffer.name for buffer in definition.arguments):
            mistakes.append(f'argument "{keyword}": expected a positional argument, got a keyword')
        else:
            close = difflib.get_close_matches(keyword, keywords, 1)
            hint = f"did you mean {close[0]}?" if close else f"expected {one_of(keywords) if keywords else 'none'}"
            mistakes.append(f'unknown keyword "{keyword}": {hint}')
    return given


# Operands ---------------------------------------------------------------------------------------


def _operands(definition: Definition, args: Sequence[Any], mistakes: list[str]) -> list[Operand | None]:
    expected = definition.arguments
    if len(args) != len(expected):
        names = ", ".join(buffer.name for buffer in expected)
        plural = "" if len(expected) == 1 else "s"
        mistakes.append(f"expected {len(expected)} argument{plural} ({names}), got {len(args)}")
    found: list[Operand | None] = []
    for index, (buffer, value) in enumerate(zip(expected, args, strict=False)):
        operand = _operand(value)
        if isinstance(operand, str):
            accepted = one_of(instance.dtypes[buffer.name] for instance in definition.instances)
            mistakes.append(f"{label(index, buffer)}: expected {accepted}, got {operand}")
            found.append(None)
        else:
            found.append(operand)
    return found


def _operand(value: Any) -> Operand | str:
    """An operand, or what was received that cannot be one."""
    if not isinstance(value, _jax.Array) and callable(getattr(value, "__jax_array__", None)):
        value = value.__jax_array__()
    value = _jax.unwrapped(value)
    if isinstance(value, _jax.Array):
        if _jax.is_key(value.dtype):
            return f"a PRNG key array ({value.dtype}): pass jax.random.key_data(..)"
        aval = _jax.typeof(value)
        if aval.weak_type and not aval.shape:
            return Operand(value, (), None, _kind(value.dtype))
        return _known(value, aval.shape, value.dtype)
    if isinstance(value, np.ma.MaskedArray):
        return "a masked array: pass its data"
    if isinstance(value, (np.ndarray, np.generic)):
        return _known(value, value.shape, value.dtype)
    for python in (bool, int, float, complex):
        if isinstance(value, python):
            return Operand(value, (), None, python.__name__)
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__}: pass an array, as jnp.asarray(..) makes one"
    return f"an object of type {type(value).__name__}"


def _known(value: Any, shape: tuple[Size, ...], dtype: Any) -> Operand | str:
    if dtype in NAMES:
        return Operand(value, tuple(shape), NAMES[_jax.canonical_dtype(dtype)])
    if name_of(dtype) == "[('float0', 'V')]":
        return "float0, the tangent type of integers, which has no values"
    return name_of(dtype)


def _kind(dtype: Any) -> str:
    name = name_of(dtype)
    if name in FLOATS or name in COMPLEX:
        return "float" if name in FLOATS else "complex"
    return "bool" if name == "pred" else "int"


def _takes(dtype: str, kind: str) -> bool:
    """Whether a scalar of this kind may take the dtype: the order of NumPy's safe casts."""
    if _jax.canonical_dtype(NUMPY[dtype]) != NUMPY[dtype]:
        return False
    return {
        "bool": dtype == "pred",
        "int": dtype != "pred",
        "float": dtype in FLOATS or dtype in COMPLEX,
        "complex": dtype in COMPLEX,
    }[kind]


def _natural(kind: str) -> str:
    """The dtype that JAX itself gives to a scalar of this kind."""
    return NAMES[_jax.canonical_dtype(np.dtype({"bool": bool, "int": int, "float": float, "complex": complex}[kind]))]


# The instance -----------------------------------------------------------------------------------


def _choose_instance(
    definition: Definition, operands: list[Operand | None], given: dict[str, Any], mistakes: list[str]
) -> int | None:
    wanted = given.pop("dtype", None) if definition.dtype_result is not None else None
    before = len(mistakes)
    for index, (buffer, operand) in enumerate(zip(definition.arguments, operands, strict=False)):
        accepted = [instance.dtypes[buffer.name] for instance in definition.instances]
        if operand is not None and not any(_fits(operand, dtype) for dtype in accepted):
            mistakes.append(f"{label(index, buffer)}: expected {one_of(accepted)}, got {_got(operand, accepted)}")
    candidates = [
        number
        for number, instance in enumerate(definition.instances)
        if all(
            operand is None or _fits(operand, instance.dtypes[buffer.name])
            for buffer, operand in zip(definition.arguments, operands, strict=False)
        )
    ]
    if not candidates:
        if len(mistakes) == before:
            mistakes.append(_no_instance(definition, operands))
        return None
    candidates = _prefer_natural(definition, operands, candidates)
    if definition.dtype_result is not None:
        candidates = _choose_by_result(definition, definition.dtype_result, candidates, wanted, mistakes)
    return candidates[0] if candidates else None


def _fits(operand: Operand, dtype: str) -> bool:
    return _takes(dtype, operand.kind) if operand.dtype is None else operand.dtype == dtype


def _got(operand: Operand, accepted: list[str]) -> str:
    text = operand.dtype or f"a {'Python' if not isinstance(operand.value, _jax.Array) else 'weak'} {operand.kind}"
    doubled = _DOUBLE.values() if operand.dtype is None else (_DOUBLE.get(operand.dtype),)
    if not _jax.x64() and any(dtype in doubled for dtype in accepted):
        text += " (64-bit types need jax.config.update('jax_enable_x64', True))"
    return text


_DOUBLE = {"s32": "s64", "u32": "u64", "f32": "f64", "c64": "c128"}


def _no_instance(definition: Definition, operands: list[Operand | None]) -> str:
    def show(dtypes: Mapping[str, str]) -> str:
        return "(" + ", ".join(f"{b.name}: {dtypes[b.name]}" for b in definition.arguments) + ")"

    got = {b.name: (o.dtype or o.kind) if o else "?" for b, o in zip(definition.arguments, operands, strict=False)}
    if len(got) < len(definition.arguments):
        return "no instance for these dtypes"
    return f"expected dtypes {one_of(show(i.dtypes) for i in definition.instances)}, got {show(got)}"


def _prefer_natural(definition: Definition, operands: list[Operand | None], candidates: list[int]) -> list[int]:
    """Where scalars leave a choice: the dtype that JAX would give them, else the first one declared."""
    first = candidates
    for buffer, operand in zip(definition.arguments, operands, strict=False):
        if operand is not None and operand.dtype is None:
            natural = _natural(operand.kind)
            kept = [n for n in first if definition.instances[n].dtypes[buffer.name] == natural]
            first = kept or first
    chosen = tuple(definition.instances[first[0]].dtypes[b.name] for b in definition.arguments)
    return [n for n in first if tuple(definition.instances[n].dtypes[b.name] for b in definition.arguments) == chosen]


def _choose_by_result(
    definition: Definition, result: str, candidates: list[int], wanted: Any, mistakes: list[str]
) -> list[int]:
    accepted = [definition.instances[n].dtypes[result] for n in candidates]
    if wanted is None:
        if len(candidates) > 1:
            mistakes.append(f'missing keyword "dtype", the dtype of result "{result}": expected {one_of(accepted)}')
        return candidates[:1]
    name = _dtype_name(wanted)
    if name not in accepted:
        mistakes.append(f"dtype: expected {one_of(accepted)}, got {name}")
        return candidates[:1]
    return [n for n in candidates if definition.instances[n].dtypes[result] == name]


def _dtype_name(wanted: Any) -> str:
    """XLA's name of a dtype that came as a name, a NumPy dtype or a scalar type."""
    if isinstance(wanted, str) and wanted in NUMPY:
        return wanted
    if isinstance(wanted, (str, type, np.dtype)):
        try:
            return name_of(np.dtype(wanted))
        except TypeError:
            return repr(wanted)
    return f"an object of type {type(wanted).__name__}"


# Dims, attributes, conversion -------------------------------------------------------------------


def _keyword_dims(definition: Definition, given: dict[str, Any], mistakes: list[str]) -> dict[str, Size]:
    dims: dict[str, Size] = {}
    for dim in definition.dim_keywords:
        if dim not in given:
            mistakes.append(f'missing keyword "{dim}", a dim of the result')
            continue
        value = given.pop(dim)
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            if not 0 <= value < 2**63:
                mistakes.append(f'dim "{dim}": expected a size, got {value}')
            else:
                dims[dim] = int(value)
        elif isinstance(value, (_jax.Array, np.ndarray)) or not hasattr(value, "dimension_as_value"):
            kind = (
                "a traced array: sizes are constants of the program" if isinstance(value, _jax.Tracer) else repr(value)
            )
            mistakes.append(f'dim "{dim}": expected an int, got {kind}')
        else:
            assert is_symbolic(value)
            dims[dim] = value
    return dims


def _cast_attributes(
    definition: Definition, instance: int | None, given: dict[str, Any], mistakes: list[str]
) -> dict[str, Value]:
    cast: dict[str, Value] = {}
    # Without an instance the first one serves, so that mistakes of the attributes are reported too.
    for name, spec in definition.instances[instance or 0].attributes.items():
        if name not in given:
            if not spec.optional:
                mistakes.append(f'attribute "{name}": expected {spec.expected}, got nothing: it has no default')
            elif spec.default is not None:
                cast[name] = spec.default
            continue
        try:
            value = spec.cast(given[name])
        except Mismatch as mismatch:
            mistakes.append(f'attribute "{name}": expected {spec.expected}, got {mismatch}')
            continue
        if value is not None:
            cast[name] = value
    return cast


def _converted(definition: Definition, operands: list[Operand | None], instance: int, mistakes: list[str]) -> list[Any]:
    arrays: list[Any] = []
    for index, (buffer, operand) in enumerate(zip(definition.arguments, operands, strict=True)):
        assert operand is not None
        dtype = definition.instances[instance].dtypes[buffer.name]
        if operand.dtype is not None:
            arrays.append(operand.value if isinstance(operand.value, _jax.Array) else _jax.asarray(operand.value))
        elif isinstance(operand.value, _jax.Array):
            arrays.append(_jax.convert_element_type(operand.value, NUMPY[dtype]))
        else:
            try:
                arrays.append(_jax.asarray(cast_scalar(operand.value, dtype)))
            except Mismatch as mismatch:
                mistakes.append(f"{label(index, buffer)}: expected {dtype}, got {mismatch}")
    return arrays
