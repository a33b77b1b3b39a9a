"""`lakelogic schema`: what an editor needs to help with contracts."""

from __future__ import annotations

from lakelogic.cli.render import print_json


def schema_command() -> None:
    """Print the JSON Schema of contracts, for editors.

    \b
    Examples:
      lakelogic schema > contract.schema.json
      (then begin a contract with: # yaml-language-server: $schema=contract.schema.json)
    """
    from lakelogic.contract.json_schema import contract_json_schema

    print_json(contract_json_schema())
