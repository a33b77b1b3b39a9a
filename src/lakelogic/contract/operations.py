"""`external_logic`, `notifications`, `resilience`, `views`, `tests`: what surrounds a run."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from lakelogic.contract.grammar import ContractModel, Count, Duration, FreeForm, Setting, Text, Texts

Event = Literal["failure", "quarantine", "slo_breach", "schema_drift", "success"]


def _one_or_many(value: object) -> object:
    return value if value is None or isinstance(value, list | tuple) else (value,)


class ExternalLogic(ContractModel):
    """Code that gets frames and returns a frame, which is then checked like any other."""

    type: Literal["python", "notebook"] = "python"
    path: Text
    entrypoint: Text = "run"
    args: FreeForm = Field(default_factory=dict)


class Notification(ContractModel):
    """Who is told about what."""

    on: Annotated[tuple[Event, ...], BeforeValidator(_one_or_many)]
    to: Annotated[tuple[Setting, ...], BeforeValidator(_one_or_many)] = ()
    template: Text | None = None


class Resilience(ContractModel):
    """How often and how long a run is tried."""

    retries: Count = 3
    backoff: Duration = Field(default="2s", validate_default=True)
    timeout: Duration | None = None
    max_consecutive_failures: Count | None = None


class View(ContractModel):
    """A view for readers who may not see the table: column to SQL."""

    name: Text
    columns: dict[str, Text] = Field(default_factory=dict)
    grant_select: Texts = ()


class Expectation(ContractModel):
    """What a test expects of its rows."""

    accepted: Count | None = None
    quarantined: Count | None = None
    rules: Texts = ()


class ContractTest(ContractModel):
    """Rows in, verdict out."""

    name: Text
    given: tuple[FreeForm, ...]
    expect: Expectation
