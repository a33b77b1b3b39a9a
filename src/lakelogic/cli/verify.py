"""`lakelogic verify`: whether engines agree about a contract."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from lakelogic.cli.options import ContractPath, Debug, Env, Output, OutputFormat, Overrides, Quiet, StageName
from lakelogic.cli.packs import PolicyPack, PolicyPackDir, pack_choice
from lakelogic.cli.render import print_json
from lakelogic.cli.run import Master, Remote, start_log

# A comparison that says no is like a gate: all went well, and the answer stops what comes after.
EXIT_CODES = {"equal": 0, "not_compared": 0, "refused": 3, "different": 5}

Engines = Annotated[
    str,
    typer.Option(metavar="NAMES", help="Two or more of spark, duckdb, polars; each is compared with the first."),
]
Rows = Annotated[int, typer.Option(min=1, help="How many differing rows to show.")]
AllowRefusals = Annotated[
    bool, typer.Option("--allow-refusals", help="Compare only the engines that can carry out the contract.")
]
Scratch = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Where the throw-away tables lie: a folder or address that a remote Spark can reach.",
        show_default=False,
    ),
]


def verify_command(
    contract: ContractPath,
    engines: Engines = "spark,duckdb,polars",
    env: Env = None,
    stage: StageName = None,
    overrides: Overrides = None,
    policy_pack: PolicyPack = None,
    policy_pack_dir: PolicyPackDir = None,
    rows: Rows = 5,
    allow_refusals: AllowRefusals = False,
    scratch: Scratch = None,
    master: Master = None,
    remote: Remote = None,
    output: Output = OutputFormat.TABLE,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run a contract on several engines and compare rows, reasons, counts and rules.

    Each engine reads all of the source into empty tables that are thrown away; target, quarantine, journal
    and run log are not touched. Personal data is shown as digests only. Exit code 0: all the same; 3: an
    engine refuses the contract; 5: they differ.

    \b
    Examples:
      lakelogic verify contract.yaml
      lakelogic verify contract.yaml --engines duckdb,polars
      lakelogic verify contract.yaml --engines duckdb,polars --set source.path=other.csv --output json
      lakelogic verify contract.yaml --allow-refusals
    """
    from loguru import logger

    from lakelogic.cli.certificate_page import print_certificate
    from lakelogic.cli.progress import PhaseClock, follow_phases
    from lakelogic.core.settings import read_settings
    from lakelogic.run.validate import load_checked
    from lakelogic.run.verify import Verifying, verify_contract

    settings = read_settings(os.environ)
    start_log(settings, quiet=quiet, debug=debug)
    if not debug:
        # Where rows of a throw-away table were written is no news.
        logger.disable("lakelogic.run.outcome")
    with follow_phases(PhaseClock(), show=not quiet and not debug) as begin:
        loaded = load_checked(
            contract,
            env=env or settings.env,
            stage=stage,
            overrides=tuple(overrides or ()),
            settings=settings,
            packs=pack_choice(policy_pack, policy_pack_dir),
        )
        names = tuple(name.strip() for name in engines.split(",") if name.strip())
        how = Verifying(names, settings, rows, allow_refusals, scratch, master, remote, on_phase=begin)
        certificate = verify_contract(loaded, how)
    if output is OutputFormat.JSON:
        print_json(certificate.to_dict())
    else:
        print_certificate(certificate)
    raise typer.Exit(EXIT_CODES[certificate.verdict])
