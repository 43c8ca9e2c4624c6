"""What `opcheck` found: one line a check."""

from __future__ import annotations

from dataclasses import dataclass


class Failed(Exception):
    """A check found something; the message says what."""


class Skipped(Exception):
    """A check does not apply; the message says why."""


@dataclass(frozen=True)
class Check:
    """One check: ``outcome`` is "passed", "failed" or "skipped", ``detail`` says what was found or tried."""

    name: str
    outcome: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name:<12} {self.outcome:<8} {self.detail}".rstrip()


@dataclass(frozen=True)
class Report:
    """All checks of one call. ``report["batches"]`` is one of them; the report is true if none failed."""

    call: str
    checks: tuple[Check, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that failed."""
        return tuple(check.name for check in self.checks if check.outcome == "failed")

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(f"{name} is none of {', '.join(check.name for check in self.checks)}")

    def __bool__(self) -> bool:
        return not self.failed

    def __str__(self) -> str:
        return "\n  ".join([f"opcheck {self.call}", *map(str, self.checks)])


class OpcheckError(AssertionError):
    """An operation failed a check; ``report`` has them all."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(f"{', '.join(report.failed)} failed\n{report}")
