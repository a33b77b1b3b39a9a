"""`lineage`: the columns that tell where a row came from."""

from pydantic import Field

from lakelogic.contract.grammar import ContractModel, Flag, Text, Texts


class Lineage(ContractModel):
    """Which lineage columns a row gets; `columns` renames them: standard name to the wanted one."""

    enabled: Flag = True
    capture_run_id: Flag = True
    capture_source_path: Flag = True
    capture_processed_at: Flag = True
    preserve_upstream: Texts = ()
    columns: dict[str, Text] = Field(default_factory=dict)
