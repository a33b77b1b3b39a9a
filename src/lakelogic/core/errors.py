"""Everything that can go wrong, with a place, a sentence and a hint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a contract file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    path: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: a stable code, what is wrong, where, and what to write instead. A warning stops nothing."""

    code: str
    message: str
    place: Place | None = None
    hint: str | None = None
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        mark = "warning " if self.severity == "warning" else ""
        hint = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{where}{mark}{self.code} {self.message}{hint}"


class LakeLogicError(Exception):
    """An error that a person can act on."""

    exit_code = 4
    default_code = "LL900"

    def __init__(
        self,
        message: str,
        *,
        where: Place | None = None,
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.problem = Problem(code or self.default_code, message, where, hint)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return (self.problem,)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


class ContractError(LakeLogicError):
    """The author must act; carries every mistake that was found, not only the first."""

    exit_code = 2
    default_code = "LL100"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self._problems = tuple(problems)
        first = self._problems[0]
        super().__init__(first.message, where=first.place, hint=first.hint, code=first.code)

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._problems


class PlanError(LakeLogicError):
    """The contract is well formed, but cannot be carried out on this source and table."""

    exit_code = 3
    default_code = "LL300"


class CapabilityError(PlanError):
    """The chosen engine or table cannot do what the contract asks."""

    default_code = "LL310"


class RunError(LakeLogicError):
    """The operator must act: storage, network, another run, a broken environment."""

    exit_code = 4
    default_code = "LL400"

    def __init__(
        self,
        message: str,
        *,
        where: Place | None = None,
        hint: str | None = None,
        code: str | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message, where=where, hint=hint, code=code)
        self.retryable = retryable


class GateError(LakeLogicError):
    """A gate judged the batch before publish and said no; nothing was published."""

    exit_code = 5
    default_code = "LL500"

    def __init__(self, message: str, *, gate: str = "table", hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.gate = gate  # the key of the contract that asks for it
