"""`upstream`, `downstream`: the datasets this one stands between."""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from lakelogic.contract.grammar import ContractModel, Duration, Text


class UpstreamFreshness(ContractModel):
    """How old an upstream may be, and what happens when it is older."""

    max_age: Duration
    on_stale: Literal["block", "warn", "skip"] = "block"


class Upstream(ContractModel):
    """A dataset that must have run before this one."""

    dataset: Text
    freshness: UpstreamFreshness | None = None


class Downstream(ContractModel):
    """Something that reads this dataset; documentation only."""

    type: Text
    name: Text
    owner: Text | None = None


def _from_name(value: object) -> object:
    return {"dataset": value} if isinstance(value, str) else value


UpstreamItem = Annotated[Upstream, BeforeValidator(_from_name)]
