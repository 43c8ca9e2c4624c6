"""Which handler is the derivative rule of which operation, checked by name when a library is loaded.

`fwd` has the inputs of the operation and returns its results, then residuals. `bwd` takes residuals, inputs,
results and `ct_<result>`, and returns `ct_<input>`; `jvp` takes `t_<input>` instead and returns `t_<result>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oxidax._dtypes import INEXACT
from oxidax._errors import LoadError
from oxidax._manifest import Buffer, Definition, Instance

if TYPE_CHECKING:
    from oxidax._operation import Operation


@dataclass(frozen=True)
class Rule:
    """A handler that serves as a rule, and which of its instances goes with which of the operation's.

    An instance without derivative (no floating input, or no floating result) has None.
    """

    operation: Operation
    instances: tuple[int | None, ...]


@dataclass(frozen=True)
class Wiring:
    """The rules of one operation. Without `fwd`, the operation itself is its forward pass."""

    fwd: Rule | None
    bwd: Rule | None
    jvp: Rule | None
    residuals: tuple[Buffer, ...]
    needed: tuple[Buffer, ...]  # what the linearised operation has to keep for `bwd` and `jvp`


def inexact(buffers: tuple[Buffer, ...], instance: Instance) -> list[int]:
    """The positions of the floating buffers, the only ones with tangents."""
    return [i for i, buffer in enumerate(buffers) if instance.dtypes[buffer.name] in INEXACT]


def differentiable(definition: Definition, instance: Instance) -> bool:
    """Whether there is anything to derive."""
    return bool(inexact(definition.arguments, instance) and inexact(definition.results, instance))


def connect(operation: Operation, by_id: dict[str, Operation]) -> Wiring | None:
    """Finds and checks the rules of an operation.

    Raises:
        LoadError: a rule does not fit; the message names the parameter.
    """
    found = {_rule_ids(definition, by_id) for definition in operation.definitions.values()}
    if len(found) > 1:
        raise LoadError(f"{operation.__name__}: its handlers for {operation.platforms} have different derivative rules")
    fwd, bwd, jvp = found.pop()
    if bwd is None and jvp is None:
        return None
    primal = operation.definition
    residuals = _check_fwd(primal, fwd.definition) if fwd else ()
    fwd_rule = fwd and _match_fwd(primal, fwd)
    wiring = _Names(primal, residuals, fwd_rule)
    bwd_rule = wiring.check("bwd", "ct_", bwd) if bwd else None
    jvp_rule = wiring.check("jvp", "t_", jvp) if jvp else None
    return Wiring(fwd_rule, bwd_rule, jvp_rule, residuals, tuple(wiring.needed.values()))


def _rule_ids(definition: Definition, by_id: dict[str, Operation]) -> tuple[Operation | None, ...]:
    ids = (definition.vjp.fwd, definition.vjp.bwd) if definition.vjp else (None, None)
    rules = []
    for role, rule in zip(("fwd", "bwd", "jvp"), (*ids, definition.jvp), strict=True):
        if rule is not None and rule not in by_id:
            raise LoadError(
                f"{definition.name}: its {role} rule {rule} is not in the library: the module that holds it is not "
                "linked, so name it (`use .. as _;`) in the crate"
            )
        rules.append(by_id[rule] if rule is not None else None)
    return tuple(rules)


def _check_fwd(primal: Definition, fwd: Definition) -> tuple[Buffer, ...]:
    """Checks that `fwd` starts like the operation; gives its residuals."""
    where = f"{primal.name}: fwd rule {fwd.name}"
    for kind, want, have in (
        ("argument", primal.arguments, fwd.arguments),
        ("result", primal.results, fwd.results[: len(primal.results)]),
    ):
        for index, buffer in enumerate(want):
            got = have[index] if index < len(have) else None
            if got is None or (got.name, got.role, len(got.shape)) != (buffer.name, buffer.role, len(buffer.shape)):
                found = f'{got.role} "{got.name}" of rank {len(got.shape)}' if got else "nothing"
                raise LoadError(
                    f'{where}: {kind} {index}: expected {buffer.role} "{buffer.name}" of rank {len(buffer.shape)} as '
                    f"in {primal.name}, got {found}: fwd takes the same inputs and returns the same results, then "
                    "residuals"
                )
        if kind == "argument" and len(have) > len(want):
            raise LoadError(f'{where}: argument "{have[len(want)].name}": {primal.name} has no such input')
    _check_attributes(where, primal, fwd)
    _check_dims(where, primal, fwd)
    return fwd.results[len(primal.results) :]


def _check_dims(where: str, primal: Definition, rule: Definition) -> None:
    """A rule that chooses sizes of its results has them from the operation."""
    for dim in rule.dim_keywords:
        if dim not in primal.dims:
            raise LoadError(f'{where}: dim "{dim}" is in none of its inputs, nor a dim of {primal.name}')


def _match_fwd(primal: Definition, fwd: Operation) -> Rule:
    chosen: list[int | None] = []
    for instance in primal.instances:
        wanted = {b.name: instance.dtypes[b.name] for b in primal.buffers}
        chosen.append(_match(primal, instance, "fwd", fwd.definition, wanted))
    return Rule(fwd, tuple(chosen))


class _Names:
    """What the rules of one operation may ask for by name."""

    def __init__(self, primal: Definition, residuals: tuple[Buffer, ...], fwd: Rule | None) -> None:
        self.primal = primal
        self.fwd = fwd
        self.residuals = residuals
        self.needed: dict[str, Buffer] = {}

    def check(self, role: str, prefix: str, rule: Operation) -> Rule:
        primal, definition = self.primal, rule.definition
        where = f"{primal.name}: {role} rule {definition.name}"
        inputs, results = self._floating(primal.arguments), self._floating(primal.results)
        given, returned = (results, inputs) if role == "bwd" else (inputs, results)
        # A name can come from several places; then it may not be asked for.
        sources: dict[str, list[tuple[str, Buffer]]] = {}
        for what, buffers in (
            ("a residual", self.residuals),
            ("an input", primal.arguments),
            ("a result", primal.results),
        ):
            for buffer in buffers:
                sources.setdefault(buffer.name, []).append((what, buffer))
        kind = "cotangent" if role == "bwd" else "tangent"
        for buffer in given:
            sources.setdefault(prefix + buffer.name, []).append((f"the {kind} of {buffer.name}", buffer))
        for buffer in definition.arguments:
            self._check_source(where, prefix, buffer, sources)
        asked = {buffer.name for buffer in definition.arguments}
        for buffer in given:
            if prefix + buffer.name not in asked:
                raise LoadError(
                    f'{where}: takes no "{prefix}{buffer.name}", so that the {kind} of "{buffer.name}" would be lost: '
                    "add this parameter"
                )
        self._check_results(where, prefix, definition, returned)
        _check_attributes(where, primal, definition)
        _check_dims(where, primal, definition)
        return Rule(rule, tuple(self._instance(role, prefix, definition, i) for i in range(len(primal.instances))))

    def _floating(self, buffers: tuple[Buffer, ...]) -> list[Buffer]:
        return [b for b in buffers if any(i.dtypes[b.name] in INEXACT for i in self.primal.instances)]

    def _check_source(
        self, where: str, prefix: str, buffer: Buffer, sources: dict[str, list[tuple[str, Buffer]]]
    ) -> None:
        found = sources.get(buffer.name, [])
        if not found:
            raise LoadError(
                f'{where}: argument "{buffer.name}" is none of those that it can take: {", ".join(sources)}'
            )
        if len(found) > 1:
            places = " and ".join(what for what, _ in found)
            hint = (
                "differentiate it in reverse mode, with vjp(..)"
                if prefix == "t_" and buffer.name.startswith("t_")
                else "return it from fwd as a residual of another name"
            )
            raise LoadError(f'{where}: argument "{buffer.name}" is ambiguous, {places}: {hint}')
        ((_, source),) = found
        if len(source.shape) != len(buffer.shape):
            raise LoadError(
                f'{where}: argument "{buffer.name}": expected rank {len(source.shape)}, as "{source.name}" has, '
                f"got {len(buffer.shape)}"
            )
        if source.name == buffer.name:
            self.needed.setdefault(buffer.name, source)

    def _check_results(self, where: str, prefix: str, rule: Definition, returned: list[Buffer]) -> None:
        have = {buffer.name: buffer for buffer in rule.results}
        for buffer in returned:
            got = have.pop(prefix + buffer.name, None)
            if got is None:
                raise LoadError(f'{where}: returns no "{prefix}{buffer.name}": add this result')
            if len(got.shape) != len(buffer.shape):
                raise LoadError(
                    f'{where}: result "{got.name}": expected rank {len(buffer.shape)}, as "{buffer.name}" has, '
                    f"got {len(got.shape)}"
                )
        for name in have:
            wanted = ", ".join(prefix + buffer.name for buffer in returned)
            raise LoadError(f'{where}: result "{name}" is none of those that it can return: {wanted}')

    def _instance(self, role: str, prefix: str, rule: Definition, number: int) -> int | None:
        primal, instance = self.primal, self.primal.instances[number]
        if not differentiable(primal, instance):
            return None
        wanted = dict(instance.dtypes)
        if self.fwd is not None:
            chosen = self.fwd.instances[number]
            assert chosen is not None
            fwd = self.fwd.operation.definition.instances[chosen]
            wanted |= {b.name: fwd.dtypes[b.name] for b in self.residuals}
        # Last, for the tangents win where an input has such a name; asking for that one was refused.
        wanted |= {prefix + b.name: instance.dtypes[b.name] for b in primal.buffers}
        return _match(primal, instance, role, rule, wanted)


def _match(primal: Definition, instance: Instance, role: str, rule: Definition, wanted: dict[str, str]) -> int:
    """The instance of a rule with these dtypes and with the attribute types of the operation's instance."""
    where = f"{primal.name}: {role} rule {rule.name}"
    names = [b.name for b in rule.buffers if b.name in wanted]
    for number, candidate in enumerate(rule.instances):
        if any(candidate.dtypes[name] != wanted[name] for name in names):
            continue
        for name, spec in candidate.attributes.items():
            own = instance.attributes.get(name)
            if own is not None and own.same_as != spec.same_as:
                raise LoadError(
                    f'{where}: attribute "{name}": expected {own.expected} as in {primal.name}, got {spec.expected}'
                )
        return number
    dtypes = ", ".join(f"{name}: {wanted[name]}" for name in names)
    raise LoadError(f"{where}: has no instance for ({dtypes}): add the dtypes of {primal.name} to it")


def _check_attributes(where: str, primal: Definition, rule: Definition) -> None:
    for name in rule.attributes:
        if name not in primal.attributes and not rule.instances[0].attributes[name].optional:
            have = ", ".join(primal.attributes) or "it has none"
            raise LoadError(
                f'{where}: attribute "{name}" is none of {primal.name} ({have}): a rule gets the attributes of its '
                "operation; give it a default or remove it"
            )
