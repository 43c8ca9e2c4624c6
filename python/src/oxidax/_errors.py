"""The exceptions of the package, and how a list of mistakes becomes one message."""

from __future__ import annotations

from collections.abc import Iterable


class LoadError(OSError):
    """A library cannot be loaded: it is not ours, too new, or it contradicts itself."""


class SignatureError(TypeError, ValueError):
    """A call does not fit the signature of its operation.

    One call can hold mistakes of type and of value, and all of them are reported together; so the error
    is a `TypeError` and a `ValueError`.
    """

    def __init__(self, operation: str, mistakes: Iterable[str]) -> None:
        self.operation = operation
        self.mistakes = tuple(mistakes)
        super().__init__(f"{operation}: {'; '.join(self.mistakes)}")

    def __reduce__(self) -> tuple[type[SignatureError], tuple[str, tuple[str, ...]]]:
        return type(self), (self.operation, self.mistakes)


def one_of(words: Iterable[str]) -> str:
    """Joins alternatives as prose: ``f32``, ``f32 or f64``, ``f32, f64 or c64``."""
    unique = list(dict.fromkeys(words))
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} or {unique[-1]}"
