"""`lakelogic explain`: what a run would do, and why."""

from __future__ import annotations

from lakelogic.cli.options import (
    ContractPath,
    Debug,
    Engine,
    Env,
    Output,
    OutputFormat,
    Overrides,
    StageName,
)
from lakelogic.cli.packs import PolicyPack, PolicyPackDir, pack_choice
from lakelogic.cli.render import print_json, print_text


def explain_command(
    contract: ContractPath,
    engine: Engine = None,
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    policy_pack: PolicyPack = None,
    policy_pack_dir: PolicyPackDir = None,
    output: Output = OutputFormat.TABLE,
    debug: Debug = False,
) -> None:
    """Show the steps of a run, the SQL of each, and where each value came from. Nothing is read or written.

    \b
    Examples:
      lakelogic explain contract.yaml
      lakelogic explain contract.yaml --engine duckdb
      lakelogic explain contract.yaml --output json
    """
    from lakelogic.run.explain import explain_contract

    explanation = explain_contract(
        contract,
        engine=engine.value if engine else None,
        env=env,
        stage=stage,
        overrides=tuple(overrides or ()),
        packs=pack_choice(policy_pack, policy_pack_dir),
    )
    if output is OutputFormat.JSON:
        print_json(explanation.to_dict())
    else:
        print_text(explanation.to_text())
