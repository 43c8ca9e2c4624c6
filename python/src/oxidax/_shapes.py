"""Shape expressions: the JSON trees of the manifest, evaluated on integers and on symbolic dims.

The rules are those of the Rust side: checked 64-bit integers, floor division, and an error in a branch that
is not taken does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from oxidax import _jax

Expr = Any  # int | ["dim", name] | ["attr", name] | [operator, ...]
Size = Any  # int, bool, or a symbolic dim of jax.export


class Undecided(Exception):
    """A comparison of symbolic dims has no answer before run time."""


class ShapeError(Exception):
    """An expression has no value: overflow, a zero divisor, a missing attribute."""


def is_symbolic(size: Size) -> bool:
    """True for a dim whose value is not known before run time."""
    return not isinstance(size, (int, np.integer))


def differ(a: Size, b: Size) -> bool:
    """True where two sizes are certainly different."""
    if not is_symbolic(a) and not is_symbolic(b):
        return bool(a != b)
    try:
        return bool(_compare("!=", a, b))
    except Undecided:
        return False


def equal(a: Size, b: Size) -> bool:
    """True where two sizes are certainly equal."""
    try:
        return bool(_compare("==", a, b))
    except Undecided:
        return False


def evaluate(expr: Expr, dims: Mapping[str, Size], attributes: Mapping[str, Any]) -> Size:
    """The value of an expression.

    Raises:
        ShapeError: it has none.
        Undecided: it depends on a comparison that symbolic dims cannot decide.
    """
    if isinstance(expr, int):
        return expr
    operator, *operands = expr
    if operator == "dim":
        return dims[operands[0]]
    if operator == "attr":
        return _attribute(operands[0], attributes)
    if operator == "if":
        taken = operands[1] if evaluate(operands[0], dims, attributes) else operands[2]
        return evaluate(taken, dims, attributes)
    if operator == "not":
        return not evaluate(operands[0], dims, attributes)
    if operator in ("and", "or"):
        return _logic(operator == "or", operands, dims, attributes)
    a, b = (evaluate(operand, dims, attributes) for operand in operands)
    if operator in _COMPARE:
        return _compare(operator, a, b)
    return _arithmetic(operator, a, b)


def _attribute(name: str, attributes: Mapping[str, Any]) -> Size:
    value = attributes.get(name)
    if value is None:
        raise ShapeError(f'attribute "{name}" is needed for a shape')
    return value


def _logic(stop: bool, operands: list[Expr], dims: Mapping[str, Size], attrs: Mapping[str, Any]) -> bool:
    """`and` and `or`: one operand that decides is enough, also where the other is undecided."""
    undecided = False
    for operand in operands:
        try:
            if bool(evaluate(operand, dims, attrs)) is stop:
                return stop
        except Undecided:
            undecided = True
    if undecided:
        raise Undecided
    return not stop


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _compare(operator: str, a: Size, b: Size) -> bool:
    if not is_symbolic(a) and not is_symbolic(b):
        return bool(_COMPARE[operator](a, b))
    if operator in ("==", "!="):
        # A symbolic `==` answers False where it does not know; the orders say so.
        if _order(">=", a, b) is True and _order("<=", a, b) is True:
            return operator == "=="
        if _order(">", a, b) is True or _order("<", a, b) is True:
            return operator == "!="
        raise Undecided
    decided = _order(operator, a, b)
    if decided is None:
        raise Undecided
    return decided


def _order(operator: str, a: Size, b: Size) -> bool | None:
    """An order of two sizes, or None; the negation is asked too, for it may be the one that is known."""
    for asked, answer in ((operator, True), (_NEGATED[operator], False)):
        try:
            if _COMPARE[asked](a, b):
                return answer
        except _jax.InconclusiveDimensionOperation:
            pass
    return None


def _arithmetic(operator: str, a: Size, b: Size) -> Size:
    if operator in ("/", "%") and not is_symbolic(b) and b == 0:
        raise ShapeError("division by zero")
    if operator in ("min", "max"):
        if is_symbolic(a) or is_symbolic(b):
            return (_jax.min_dim if operator == "min" else _jax.max_dim)(a, b)
        return min(a, b) if operator == "min" else max(a, b)
    result = _ARITHMETIC[operator](a, b)
    if not is_symbolic(result) and not -(2**63) <= result < 2**63:
        raise ShapeError(f"{a} {operator} {b} overflows 64 bits")
    return result


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}

_PRECEDENCE = {
    "or": 1,
    "and": 2,
    "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3,
    "+": 4, "-": 4,
    "*": 5, "/": 5, "%": 5,
}  # fmt: skip


Variants = Mapping[str, Mapping[int, str]]  # of each attribute that is an enum: value to name


def show(expr: Expr, variants: Variants, outer: int = 0) -> str:
    """An expression as its author wrote it, and what an enum is compared with as callers write it."""
    if isinstance(expr, (int, str)):
        return str(expr)
    operator, *operands = expr
    if operator in ("dim", "attr"):
        return str(operands[0])
    if operator == "not":
        return f"!{show(operands[0], variants, 6)}"
    if operator == "if":
        condition, yes, no = (show(operand, variants) for operand in operands)
        chained = isinstance(operands[2], list) and operands[2][0] == "if"
        return f"if {condition} {{ {yes} }} else {no if chained else f'{{ {no} }}'}"
    if operator in ("min", "max"):
        return f"{operator}({show(operands[0], variants)}, {show(operands[1], variants)})"
    inner = _PRECEDENCE[operator]
    word = {"and": "&&", "or": "||"}.get(operator, operator)
    if operator in ("==", "!="):
        a, b = operands
        operands = [_named(a, b, variants), _named(b, a, variants)]
    text = f"{show(operands[0], variants, inner)} {word} {show(operands[1], variants, inner + 1)}"
    return f"({text})" if inner < outer else text


def _named(expr: Expr, other: Expr, variants: Variants) -> Expr:
    """A number that is compared with an enum as the name of the variant; all else as it is."""
    if isinstance(expr, int) and isinstance(other, list) and other[0] == "attr":
        names = variants.get(other[1], {})
        return f'"{names[expr]}"' if expr in names else expr
    return expr


def bare_dim(expr: Expr) -> str | None:
    """The dim that an axis names bare, which is how a dim gets its size."""
    return expr[1] if isinstance(expr, list) and expr[0] == "dim" else None


def names(expr: Expr, kind: str) -> Iterator[str]:
    """The dims (kind "dim") or attributes ("attr") of an expression."""
    if isinstance(expr, list):
        if expr[0] == kind:
            yield expr[1]
        elif expr[0] not in ("dim", "attr"):
            for operand in expr[1:]:
                yield from names(operand, kind)


def broadcast(shapes: list[tuple[Size, ...]]) -> tuple[Size, ...] | None:
    """NumPy's broadcasting of batch axes, or None where they do not fit."""
    result: list[Size] = []
    for axis in range(-max(map(len, shapes), default=0), 0):
        size: Size = 1
        for shape in shapes:
            if len(shape) < -axis or equal(shape[axis], 1):
                continue
            if equal(size, 1):
                size = shape[axis]
            elif not equal(size, shape[axis]):
                return None
        result.append(size)
    return tuple(result)
