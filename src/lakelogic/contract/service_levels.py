"""`service_levels`: what readers may rely on. Declared here, recorded, not yet monitored."""

from pydantic import Field

from lakelogic.contract.grammar import ContractModel, Count, Duration, Number, Ratio, Text, Texts


class Freshness(ContractModel):
    """How old the newest row may be."""

    threshold: Duration
    field: Text | None = None


class RowCountLimits(ContractModel):
    """How many rows a run should bring."""

    min: Count | None = None
    max: Count | None = None


class Anomaly(ContractModel):
    """Which numbers are compared with their own history, and how."""

    metrics: Texts = ()
    method: Text = "zscore"
    sensitivity: Number = 3
    history: Count = 30


class ServiceLevels(ContractModel):
    """What readers of the dataset may rely on."""

    freshness_hours: Number | None = None
    freshness: Freshness | None = None
    row_count: RowCountLimits | None = None
    completeness: dict[str, Ratio] = Field(default_factory=dict)
    availability: Ratio | None = None
    schedule: Text | None = None
    anomaly: Anomaly | None = None
    max_delay_seconds: Number | None = None
    min_daily_volume: Number | None = None
    max_null_rate_pct: Number | None = None
