"""Derivatives: a jvp rule for each operation, and a second primitive for its linearised form.

The linearised operation takes what its rules need and the tangents. Evaluated, it is the `jvp` handler;
transposed, it is `bwd`: so forward and reverse mode, and every mixture of them, come from one object. All rules
are operations themselves, so they batch, and differentiate where they have rules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oxidax import _jax
from oxidax._dtypes import NUMPY
from oxidax._errors import SignatureError
from oxidax._manifest import Buffer
from oxidax._operation import Operation
from oxidax._primitive import Attributes, Sizes, bind, core_shape, eager, infer_call, move_batch_axes
from oxidax._shapes import Size, equal
from oxidax._wiring import Rule, Wiring, connect, differentiable, inexact

ad = _jax.ad


def wire(operations: Sequence[Operation]) -> None:
    """Gives each operation of a library its derivative rules.

    Raises:
        LoadError: a rule does not fit its operation.
    """
    by_id = {d.id: operation for operation in operations for d in operation.definitions.values()}
    for operation in operations:
        wiring = connect(operation, by_id)
        if wiring is not None:
            operation.rules = tuple(rule.operation for rule in (wiring.fwd, wiring.bwd, wiring.jvp) if rule is not None)
        _Derivative(operation, wiring)


def _is_zero(tangent: Any) -> bool:
    return type(tangent) is ad.Zero


class _Derivative:
    """The rules that JAX calls for one operation."""

    def __init__(self, operation: Operation, wiring: Wiring | None) -> None:
        self.operation = operation
        self.definition = operation.definition
        ad.primitive_jvps[operation.primitive] = self.jvp
        if wiring is not None:
            self.wiring = wiring
            self.make_linear()
        self.has_rules = wiring is not None

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
        """The jvp rule of the operation: the forward pass, then the linearised operation."""
        instance = self.definition.instances[params["instance"]]
        floating = inexact(self.definition.arguments, instance)
        if not differentiable(self.definition, instance) or all(_is_zero(tangents[i]) for i in floating):
            outs = bind(self.operation.primitive, primals, **params)
            return outs, [_jax.zero_tangent(out) for out in outs]
        if not self.has_rules:
            raise TypeError(
                f"{self.definition.name}: has no derivative: add `vjp(bwd = ..)` for reverse mode or `jvp = ..` for "
                "forward mode to its #[ffi_handler(..)] in Rust, or apply jax.lax.stop_gradient to its inputs"
            )
        shapes = [tuple(_jax.typeof(primal).shape) for primal in primals]
        inferred = infer_call(self.definition, shapes, params["sizes"], params["attributes"])
        sizes = tuple(inferred.dims.items())
        outs = self.forward_pass(primals, sizes, inferred.results, **params)
        results = outs[: len(self.definition.results)]
        env = dict(zip([b.name for b in self.definition.arguments], primals, strict=True))
        env |= zip([b.name for b in self.definition.results], results, strict=True)
        env |= zip([b.name for b in self.wiring.residuals], outs[len(results) :], strict=True)
        operands = [env[b.name] for b in self.wiring.needed]
        # Only tangents that are not zero are operands: a zero would be kept for the backward pass, once a scan step.
        moving = tuple(i for i in floating if not _is_zero(tangents[i]))
        operands += [tangents[i] for i in moving]
        params |= {"sizes": sizes, "moving": moving, "batch_shape": inferred.batch}
        params["result_shapes"] = tuple(inferred.results)
        out_tangents = iter(bind(self.linear, operands, **params))
        kept = set(inexact(self.definition.results, instance))
        return results, [next(out_tangents) if i in kept else _jax.zero_tangent(y) for i, y in enumerate(results)]

    def forward_pass(
        self,
        primals: Sequence[Any],
        all_sizes: Sizes,
        result_shapes: Sequence[tuple[Size, ...]],
        *,
        instance: int,
        sizes: Sizes,
        attributes: Attributes,
    ) -> list[Any]:
        """The results of the operation, then the residuals."""
        if self.wiring.fwd is None:
            return bind(self.operation.primitive, primals, instance=instance, sizes=sizes, attributes=attributes)
        outs = self.call(self.wiring.fwd, list(primals), instance, all_sizes, attributes)
        count = len(result_shapes)
        results = zip(self.definition.results, outs[:count], result_shapes, strict=True)
        spread = [self.spread(self.wiring.fwd, buffer.name, out, shape, buffer) for buffer, out, shape in results]
        return [*spread, *outs[count:]]

    def call(self, rule: Rule, operands: list[Any], instance: int, sizes: Sizes, attributes: Attributes) -> list[Any]:
        """Binds a rule: with the attributes and sizes of the operation that it names."""
        chosen = rule.instances[instance]
        assert chosen is not None
        definition = rule.operation.definition
        given, known = dict(attributes), dict(sizes)
        own = definition.instances[chosen].attributes
        values = []
        for name in definition.attributes:
            value = given.get(name) if name in self.definition.attributes else own[name].default
            if value is not None:
                values.append((name, value))
        return rule.operation.bind(
            operands,
            instance=chosen,
            sizes=tuple((dim, known[dim]) for dim in definition.dim_keywords),
            attributes=tuple(values),
        )

    def spread(self, rule: Rule, name: str, array: Any, shape: tuple[Size, ...], buffer: Buffer) -> Any:
        """The full batch of a rule's result, where the rule did not see all batch axes; `buffer` has its core dims."""
        own, expected = buffer.split(array.shape)[1], buffer.split(shape)[1]
        if not all(map(equal, own, expected)):
            where = f'rule {rule.operation.__name__}: result "{name}"'
            mistake = f'{where}: expected core dims {expected} as "{buffer.name}" has, got {own}'
            raise SignatureError(self.definition.name, [mistake])
        if len(array.shape) == len(shape) and all(map(equal, array.shape, shape)):
            return array
        return _jax.broadcast_to(array, shape)

    # The linearised operation -------------------------------------------------------------------

    def make_linear(self) -> None:
        """Builds the primitive of the linearised operation."""
        self.linear = linear = _jax.Primitive(f"{self.definition.name}_linear")
        linear.multiple_results = True
        linear.def_abstract_eval(self.linear_abstract_eval)
        linear.def_impl(eager(linear))
        _jax.register_lowering(linear, {"": _jax.mlir.lower_fun(self.linear_forward, multiple_results=True)})
        _jax.batching.primitive_batchers[linear] = self.linear_batch
        ad.primitive_jvps[linear] = self.linear_jvp
        ad.primitive_transposes[linear] = self.linear_transpose
        _jax.prepare_for_shard_map(linear)

    def split(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """What the rules need, and the tangents."""
        count = len(self.wiring.needed)
        return operands[:count], operands[count:]

    def linear_cores(self, moving: tuple[int, ...]) -> list[int]:
        """How many axes each operand has besides the batch axes."""
        buffers = [*self.wiring.needed, *(self.definition.arguments[i] for i in moving)]
        return [len(buffer.shape) for buffer in buffers]

    def linear_abstract_eval(
        self,
        *avals: Any,
        instance: int,
        moving: tuple[int, ...],
        batch_shape: tuple[Size, ...],
        result_shapes: tuple[tuple[Size, ...], ...],
        **_: Any,
    ) -> list[Any]:
        """One tangent for each floating result; shapes are parameters, for an operand may not be there."""
        dtypes = self.definition.instances[instance].dtypes
        buffers = self.definition.results
        kept = inexact(buffers, self.definition.instances[instance])
        like, leading = _jax.on_mesh(avals), _jax.leading_sharding(avals, self.linear_cores(moving), batch_shape)
        return [_jax.result_aval(like, result_shapes[i], NUMPY[dtypes[buffers[i].name]], leading) for i in kept]

    def linear_forward(
        self,
        *operands: Any,
        instance: int,
        sizes: Sizes,
        attributes: Attributes,
        moving: tuple[int, ...],
        batch_shape: tuple[Size, ...],
        result_shapes: tuple[tuple[Size, ...], ...],
    ) -> list[Any]:
        """Forward mode: the `jvp` handler."""
        del batch_shape
        if self.wiring.jvp is None:
            raise TypeError(
                f"{self.definition.name}: has no forward-mode derivative: add `jvp = ..` to its #[ffi_handler(..)] in "
                "Rust, or use reverse mode (jax.grad, jax.vjp, jax.jacrev)"
            )
        row = self.definition.instances[instance]
        needed, tangents = self.split(operands)
        env = dict(zip([b.name for b in self.wiring.needed], needed, strict=True))
        arguments = self.definition.arguments
        for i in inexact(arguments, row):
            if i not in moving:  # core axes are enough, since zeros broadcast
                shape = core_shape(self.definition, arguments[i], sizes, attributes)
                env["t_" + arguments[i].name] = _jax.zeros(shape, NUMPY[row.dtypes[arguments[i].name]])
        env |= zip(["t_" + arguments[i].name for i in moving], tangents, strict=True)
        rule = self.wiring.jvp.operation.definition
        outs = self.call(self.wiring.jvp, [env[b.name] for b in rule.arguments], instance, sizes, attributes)
        by_name = dict(zip([b.name for b in rule.results], outs, strict=True))
        kept = inexact(self.definition.results, row)
        results = [self.definition.results[i] for i in kept]
        return [
            self.spread(self.wiring.jvp, "t_" + buffer.name, by_name["t_" + buffer.name], result_shapes[i], buffer)
            for i, buffer in zip(kept, results, strict=True)
        ]

    def linear_batch(
        self, args: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int]]:
        """vmap: the mapped axis becomes the first batch axis."""
        size = next(arg.shape[axis] for arg, axis in zip(args, axes, strict=True) if axis is not None)
        cores, depth = self.linear_cores(params["moving"]), len(params["batch_shape"])
        moved = move_batch_axes(args, axes, cores, depth)
        params |= {
            "batch_shape": (size, *params["batch_shape"]),
            "result_shapes": tuple((size, *shape) for shape in params["result_shapes"]),
        }
        outs = bind(self.linear, moved, **params)
        return outs, [0] * len(outs)

    def linear_jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        """The derivative of the linearised operation: linear in the tangents, by `jvp`'s own rules in the rest."""
        needed, _ = self.split(primals)
        needed_t, direct_t = self.split(tangents)
        if all(_is_zero(t) for t in needed_t):
            outs = bind(self.linear, primals, **params)
            again = [*needed, *map(ad.instantiate_zeros, direct_t)]
            return outs, bind(self.linear, again, **params)
        moving = [i for i, t in enumerate(tangents) if not _is_zero(t)]

        def forward(*values: Any) -> list[Any]:
            operands = list(primals)
            for i, value in zip(moving, values, strict=True):
                operands[i] = value
            return self.linear_forward(*operands, **params)

        return _jax.jvp(forward, tuple(primals[i] for i in moving), tuple(tangents[i] for i in moving))

    def linear_transpose(
        self,
        cotangents: Sequence[Any],
        *args: Any,
        instance: int,
        sizes: Sizes,
        attributes: Attributes,
        moving: tuple[int, ...],
        batch_shape: tuple[Size, ...],
        **_: Any,
    ) -> list[Any]:
        """Reverse mode: the `bwd` handler; a cotangent is summed over the axes that its input was broadcast along."""
        if all(_is_zero(ct) for ct in cotangents):
            return [None] * len(args)
        if self.wiring.bwd is None:
            raise TypeError(
                f"{self.definition.name}: has no reverse-mode derivative: add `vjp(bwd = ..)` to its "
                "#[ffi_handler(..)] in Rust, or use forward mode (jax.jvp, jax.jacfwd)"
            )
        row = self.definition.instances[instance]
        needed, tangents = self.split(args)
        env = dict(zip([b.name for b in self.wiring.needed], needed, strict=True))
        names = ["ct_" + self.definition.results[i].name for i in inexact(self.definition.results, row)]
        env |= zip(names, map(ad.instantiate_zeros, cotangents), strict=True)
        rule = self.wiring.bwd.operation.definition
        outs = self.call(self.wiring.bwd, [env[b.name] for b in rule.arguments], instance, sizes, attributes)
        by_name = dict(zip([b.name for b in rule.results], outs, strict=True))
        back: list[Any] = [None] * len(needed)
        for i, tangent in zip(moving, tangents, strict=True):
            buffer = self.definition.arguments[i]
            if not ad.is_undefined_primal(tangent):
                back.append(None)
                continue
            wanted = tuple(tangent.aval.shape)
            name = "ct_" + buffer.name
            full = self.spread(self.wiring.bwd, name, by_name[name], (*batch_shape, *buffer.split(wanted)[1]), buffer)
            back.append(_sum_to(full, wanted))
        return back


def _sum_to(array: Any, shape: tuple[Size, ...]) -> Any:
    """Sums over the axes along which `shape` was broadcast."""
    extra = len(array.shape) - len(shape)
    if extra:
        array = array.sum(tuple(range(extra)))
    kept = tuple(i for i, (a, b) in enumerate(zip(array.shape, shape, strict=True)) if equal(b, 1) and not equal(a, 1))
    if kept:
        array = array.sum(kept, keepdims=True)
    return array
