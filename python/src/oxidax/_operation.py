"""The operation as users meet it: a callable with a signature, a docstring and a primitive."""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oxidax import _jax
from oxidax._call import Call, check
from oxidax._dtypes import NAMES
from oxidax._errors import LoadError, SignatureError, one_of
from oxidax._handlers import Handler
from oxidax._inference import show_rule
from oxidax._manifest import Definition
from oxidax._primitive import bind, lowering, make_primitive, remember, spread_inouts
from oxidax._shared_object import SharedObject


class Operation:
    """One JAX operation, made from one Rust function with ``#[ffi_handler]``.

    JAX transforms it as it does its own operations. ``primitive`` is its `jax.extend.core.Primitive`, for those who
    want to add or replace a rule; ``target`` is its name in compiled and exported programs.
    """

    def __init__(self, definitions: list[Definition], target: str) -> None:
        self.definition = definition = definitions[0]
        self.definitions = {d.platform: d for d in definitions}
        self.target = target
        self.shared_object: SharedObject | None = None  # where it comes from
        self.rules: tuple[Operation, ...] = ()  # set by `_autodiff.wire`
        self._handlers: dict[str, Handler] = {}
        self._unchecked: set[str] = set()
        self._programs: dict[Any, Any] = {}
        self._keywords = _keywords(definition)
        results = definition.results
        names = tuple(buffer.name for buffer in results)
        self._result_type: Any = _result_type(definition.name, target, names) if len(results) > 1 else None
        self.__name__ = self.__qualname__ = definition.name
        self.__module__ = definition.id.rpartition("::")[0] or "oxidax"
        self.__signature__ = _signature(definition)
        self.primitive = make_primitive(self)
        self.__doc__ = _doc(self)

    # Calls --------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Applies the operation: inputs by position, attributes and sizes by keyword."""
        for arg in args:
            kind = type(arg)
            if kind not in _CONCRETE and not (kind is np.ndarray and arg.dtype in NAMES):
                return self._slow_call(args, kwargs)
        # Only concrete arrays: a compiled program for these keywords does everything, its checks included.
        try:
            key = _frozen(kwargs) if kwargs else ()
            program = self._programs.get(key)
        except TypeError:
            return self._apply(args, kwargs)
        if program is None:
            program = remember(self._programs, key, self._program(copy.deepcopy(kwargs)))
        try:
            return program(*args)
        except SignatureError as error:
            raise error.with_traceback(None) from None

    def _slow_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        concrete = {type(a) for a in args if isinstance(a, _jax.Array) and not isinstance(a, _jax.Tracer)}
        if concrete <= _CONCRETE:
            return self._apply(args, kwargs)
        _CONCRETE.update(concrete)
        return self(*args, **kwargs)

    def _program(self, kwargs: dict[str, Any]) -> Any:
        def apply(*args: Any) -> Any:
            return self._apply(args, kwargs)

        apply.__name__ = apply.__qualname__ = self.__name__
        return _jax.jit(apply, inline=True)

    def _apply(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        call = self.check(args, kwargs)
        outs = self.bind(call.operands, **call.params)
        return outs[0] if self._result_type is None else self._result_type(*outs)

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """Checks a call against the signature.

        Raises:
            SignatureError: with all mistakes.
        """
        return check(self.definition, self._keywords, args, kwargs)

    def bind(self, operands: list[Any], **params: Any) -> list[Any]:
        """Binds the primitive to operands that have been checked."""
        return bind(self.primitive, spread_inouts(self.definition, operands), **params)

    @property
    def export_checks(self) -> list[Any]:
        """What `jax.export.export` has to be given as ``disabled_checks`` for this operation and its derivatives.

        JAX exports custom calls that it does not know only where it is told their targets.
        """
        found = [self]
        for operation in found:
            found += [rule for rule in operation.rules if rule not in found]
        return [_jax.export_check(operation.target) for operation in found]

    # Handlers -----------------------------------------------------------------------------------

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms on which the operation has a handler."""
        return tuple(self.definitions)

    def add_handler(self, platform: str, handler: Handler) -> None:
        """Registers a handler and makes the operation lower to it."""
        _jax.register(self.target, handler.capsules(), platform)
        self._handlers[platform] = handler
        self._unchecked.add(platform)
        if self.definition.batch != "none":
            _jax.make_partitionable(self.target)
        _jax.register_lowering(self.primitive, {platform: lowering(self, platform)})

    def handler(self, platform: str) -> Handler:
        """The handler for a platform."""
        return self._handlers[platform]

    def check_registration(self, platform: str) -> bool:
        """On first use: starts the backend and registers again. False where there is no such backend.

        Where the handler is known, nothing happens. Where another library's bad handler emptied the queue, it is
        put back. Where XLA refuses it, the error is raised here and not as an unknown target later.
        """
        if platform not in self._unchecked:
            return True
        if not _jax.start_backend(platform):
            return False
        try:
            _jax.register(self.target, self._handlers[platform].capsules(), platform)
        except Exception as error:
            version, (jax, jaxlib) = self._handlers[platform].probe(), _jax.versions()
            ours = version if isinstance(version, str) else _jax.show_version(version)
            theirs = _jax.show_version(_jax.api_version())
            raise LoadError(
                f'{self.__name__}: XLA refuses its handler "{self.target}" for {platform}: {error} '
                f"(handler: FFI API {ours}; jaxlib {jaxlib}, jax {jax}: FFI API {theirs}): upgrade jax, or build the "
                "library with the oxidax crate"
            ) from error
        self._unchecked.discard(platform)
        return True

    def __repr__(self) -> str:
        d = self.definition
        rule = f"{', '.join(_core(d, b) for b in d.arguments)} -> {', '.join(_core(d, b) for b in d.results)}"
        return (
            f"<oxidax operation {self.__name__}{self.__signature__}: {rule}, batch = {d.batch}, "
            f"{' and '.join(self.platforms)}>"
        )

    def __copy__(self) -> Operation:
        return self

    def __deepcopy__(self, memo: Any) -> Operation:
        return self


@functools.cache
def _result_type(name: str, target: str, fields: tuple[str, ...]) -> Any:
    """The named tuple of several results: one for each target and its fields, as its serialised name has them."""
    made = collections.namedtuple(f"{name}_result", fields, rename=True)
    made.__reduce__ = lambda self: (_result, (name, target, fields, tuple(self)))  # pickle finds no class made here
    _jax.make_exportable(made, f"oxidax.{target}({', '.join(fields)})")
    return made


def _result(name: str, target: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return _result_type(name, target, fields)(*values)


_CONCRETE: set[type] = set()  # the classes of concrete JAX arrays that were met


def _frozen(value: Any) -> Any:
    """A key that tells 1, 1.0, True, -0.0 and arrays of other dtypes apart.

    Raises:
        TypeError: there is none for such a value.
    """
    kind = type(value)
    if kind is float:
        return kind, value.hex()
    if kind in (int, bool, str, type(None)):
        return kind, value
    if kind in (dict, list, tuple):
        items = value.items() if kind is dict else enumerate(value)
        return kind, tuple([(name, _frozen(item)) for name, item in items])
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype in NAMES:
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, (type, np.dtype)):
        return kind, value
    raise TypeError


# Signature and documentation --------------------------------------------------------------------


def _identifier(name: str) -> str:
    """A name that Python accepts as that of a parameter."""
    name = re.sub(r"\W", "_", name)
    return f"{name}_" if keyword.iskeyword(name) or not name.isidentifier() else name


def _keywords(definition: Definition) -> dict[str, str]:
    """The accepted keywords, as they are and as Python can spell them."""
    names = [*definition.attributes, *definition.dim_keywords]
    names += ["dtype"] if definition.dtype_result is not None else []
    spelt = [_identifier(name) for name in [*(buffer.name for buffer in definition.arguments), *names]]
    twice = {name for name in spelt if spelt.count(name) > 1}
    if twice:
        raise LoadError(
            f"{definition.name}: {', '.join(sorted(twice))} would be two parameters of one call: "
            'rename one of them, an attribute with #[attr(name = "..")]'
        )
    return {_identifier(name): name for name in names} | {name: name for name in names}


def _signature(definition: Definition) -> inspect.Signature:
    kinds = inspect.Parameter
    parameters = [kinds(_identifier(b.name), kinds.POSITIONAL_ONLY) for b in definition.arguments]
    for name in definition.attributes:
        specs = [instance.attributes[name] for instance in definition.instances]
        default: Any = kinds.empty
        if specs[0].optional:
            default = None if specs[0].default is None else specs[0].default.python()
        parameters.append(kinds(_identifier(name), kinds.KEYWORD_ONLY, default=default))
    extra = [*definition.dim_keywords, *(["dtype"] if definition.dtype_result is not None else [])]
    parameters += [kinds(_identifier(name), kinds.KEYWORD_ONLY) for name in extra]
    return inspect.Signature(parameters)


def _core(definition: Definition, buffer: Any) -> str:
    return f"({', '.join(map(definition.show, buffer.shape))})"


def _doc(operation: Operation) -> str:
    d = operation.definition

    def buffers(title: str, which: Any) -> list[str]:
        lines = [
            f"    {b.name}: {one_of(i.dtypes[b.name] for i in d.instances)} {show_rule(d, b)}"
            + (", shares its memory with the result" if title == "Arguments" and b.role == "inout" else "")
            for b in which
        ]
        return [f"{title}:", *lines, ""] if lines else []

    def attribute(name: str) -> str:
        specs = [instance.attributes[name] for instance in d.instances]
        text = f"    {_identifier(name)}: {one_of(spec.expected for spec in specs)}"
        if specs[0].optional:
            text += f", default {'none' if specs[0].default is None else specs[0].default.python()}"
        return text

    keywords = [attribute(name) for name in d.attributes]
    keywords += [f"    {_identifier(dim)}: int, a size of the result" for dim in d.dim_keywords]
    if d.dtype_result is not None:
        keywords.append(f'    dtype: of result "{d.dtype_result}"')
    if len(d.instances) > 1 and len(d.buffers) > 1:
        rows = [", ".join(f"{b.name}: {i.dtypes[b.name]}" for b in d.buffers) for i in d.instances]
        dtypes = ["dtypes:", *(f"    {row}" for row in rows), ""]
    else:
        dtypes = []
    batch = {
        "each": "Leading axes are batch axes: they broadcast as in NumPy, and the handler runs once for each element.",
        "parallel": "Leading axes are batch axes: they broadcast as in NumPy, and the handler runs once for each "
        "element, on XLA's threads.",
        "whole": "Leading axes are batch axes: they broadcast as in NumPy, and the handler gets them all at once.",
        "none": "It takes no batch axes and has no jax.vmap.",
    }[d.batch]
    requires = [f"    {d.show(condition)}: {message}" for condition, message in d.require]
    rules = [f"vjp ({d.vjp.bwd})"] if d.vjp else []
    rules += [f"jvp ({d.jvp})"] if d.jvp else []
    return "\n".join(
        [
            *([d.doc.strip(), ""] if d.doc.strip() else []),
            *buffers("Arguments", d.arguments),
            *(["Keywords:", *keywords, ""] if keywords else []),
            *buffers("Returns", d.results),
            *dtypes,
            *(["Requires:", *requires, ""] if requires else []),
            batch,
            f"Derivatives: {', '.join(rules) or 'none'}.",
            f'Target: "{operation.target}" on {" and ".join(operation.platforms)}.',
        ]
    )
