"""`lakelogic schema`: what an editor needs to help with contracts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from lakelogic.cli.render import print_json


class FileKind(StrEnum):
    """The kinds of files that people write."""

    CONTRACT = "contract"
    REGISTRY = "registry"
    DOMAIN = "domain"
    SYSTEM = "system"
    POLICY_PACK = "policy-pack"


Of = Annotated[FileKind, typer.Option("--of", help="Contracts, or the files that stand above them or beside them.")]


def schema_command(of: Of = FileKind.CONTRACT) -> None:
    """Print the JSON Schema of contracts, registries, domains, systems or policy packs, for editors.

    \b
    Examples:
      lakelogic schema > contract.schema.json
      lakelogic schema --of registry > registry.schema.json
      (then begin a contract with: # yaml-language-server: $schema=contract.schema.json)
    """
    from lakelogic.contract.json_schema import contract_json_schema, file_json_schema

    print_json(contract_json_schema() if of is FileKind.CONTRACT else file_json_schema(of.value))
