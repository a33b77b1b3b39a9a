"""`bootstrap`: what it writes validates and runs as it is, whatever the files are called and hold."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from tests.e2e.insurance_estate import copy_estate, generator
from typer.testing import CliRunner

from lakelogic.cli.main import app
from lakelogic.driver.validate import validate_paths

HOSTILE = [
    "a b", "größe", "顧客", "select", "from", "Id", "id", "x.y", "q'uote", 'dou"ble', "b`tick", "${HOME}", "a;b", "%20",
    "=1+1", "#n",
]  # fmt: skip


def command(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def run(folder: Path) -> dict[str, dict[str, Any]]:
    """Bootstrap, validate and run; gives what the run tells, by dataset."""
    made = command(
        "bootstrap", "--landing", folder / "landing", "--output-dir", folder / "contracts", "--output", "json"
    )
    assert made.exit_code == 0, made.output
    found = validate_paths([folder / "contracts"])
    assert [str(problem) for problem in found.problems if problem.severity == "error"] == []
    done = command("pipeline", folder / "contracts", "--engine", "duckdb", "--output", "json", "--quiet")
    assert done.exit_code == 0, done.output
    told = {each["dataset"]: each for each in json.loads(done.stdout)["contracts"]}
    datasets = json.loads(made.stdout)["datasets"]
    assert set(told) == {each["dataset"] for each in datasets if each["contract"]}
    return {each["dataset"]: {**each, **told.get(each["dataset"], {})} for each in datasets}


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    read = DeltaTable(str(folder / "contracts" / "lakehouse" / name)).to_pyarrow_table()
    return read.select([column for column in read.column_names if not column.startswith("_lakelogic")]).to_pylist()


def line(cells: list[str]) -> str:
    """A line of CSV; absent values stand without quotes."""
    return ",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' if cell else "" for cell in cells) + "\n"


def put(folder: Path, name: str, text: str | bytes) -> None:
    path = folder / "landing" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_every_row_of_a_hostile_landing_zone_arrives(tmp_path: Path) -> None:
    put(tmp_path, "claims_cdc_2026-02-06.csv", "op,claim_id,amount,on\nc,C1,1.50,2026-02-06\nu,C1,2.25,2026-02-06\n")
    put(tmp_path, "claims_cdc_2026-02-07.csv", "op,claim_id,amount,on,extra\nd,C1,,2026-02-07,x\n")
    put(tmp_path, "claims_2026-02-06.csv", "id;born;zip\n1;01.02.1990;01234\n2;13.05.1991;99999\n")
    put(tmp_path, "claims_2026-02-06_eu.csv", "id\n1\n")
    put(tmp_path, "sub/claims_2026-02-06.csv", "k\tv\n1\tx\n")
    put(tmp_path, "order by [1] 'x' \"y\" `z`.csv", line(HOSTILE) + line(["1"] * len(HOSTILE)))
    put(tmp_path, "twice.csv", "a,a,b\n1,2,3\n4,5,6\n")
    put(tmp_path, "bare.csv", "1,2026-01-01,x\n2,2026-01-02,y\n")
    put(tmp_path, "empty.csv", "")
    put(tmp_path, "header.csv", "a,b\n")
    put(tmp_path, "t_1.csv", "a,b\n1,2\n")
    put(tmp_path, "t_2.csv", "c,d\n3,4\n")
    put(tmp_path, "cut.csv", "a,b\n1,2,3\n4\n5,6\n")
    put(tmp_path, "latin.csv", "name,n\nMüller,1\n".encode("iso-8859-1"))
    put(tmp_path, "packed.csv.gz", gzip.compress(b"a,b\n1,x\n"))
    put(tmp_path, "events.jsonl", '{"a":1,"b":{"c":2}}\n{"a":2,"z":null}\n')
    pq.write_table(pa.table({"n": [1, 2], "l": [[1], None], "s": ["x", None]}), tmp_path / "landing" / "typed.parquet")
    told = run(tmp_path)
    assert {name: (each.get("read"), each.get("accepted"), each.get("quarantined")) for name, each in told.items()} == {
        "bronze_bare": (2, 2, 0),
        "bronze_claims": (2, 2, 0),
        "bronze_claims_cdc": (3, 3, 0),
        "bronze_claims_eu": (1, 1, 0),
        "bronze_cut": (3, 1, 2),
        "bronze_empty": (None, None, None),
        "bronze_events": (2, 2, 0),
        "bronze_header": (0, 0, 0),
        "bronze_latin": (1, 1, 0),
        "bronze_order_by_1_x_y_z": (1, 1, 0),
        "bronze_packed": (1, 1, 0),
        "bronze_sub_claims": (1, 1, 0),
        "bronze_t_1": (1, 1, 0),
        "bronze_t_2": (1, 1, 0),
        "bronze_twice": (3, 2, 0),
        "bronze_typed": (2, 2, 0),
    }  # fmt: skip
    assert told["bronze_empty"]["notes"] == ["left out: all its files are empty"]
    claims = sorted(map(str, (list(row.values()) for row in table(tmp_path, "bronze_claims_cdc"))))
    assert claims[0] == "['c', 'C1', Decimal('1.50'), datetime.date(2026, 2, 6), None]"
    assert [str(row["born"]) for row in table(tmp_path, "bronze_claims")] == ["1990-02-01", "1991-05-13"]
    assert [row["zip"] for row in table(tmp_path, "bronze_claims")] == ["01234", "99999"]
    (hostile,) = table(tmp_path, "bronze_order_by_1_x_y_z")
    assert len(hostile) == len(HOSTILE) and set(hostile.values()) == {1}
    assert table(tmp_path, "bronze_twice") == [{"a": "1", "a_2": "2", "b": "3"}, {"a": "4", "a_2": "5", "b": "6"}]
    assert table(tmp_path, "bronze_latin") == [{"name": "Müller", "n": 1}]
    # The next day's file belongs to the same dataset, and to no other.
    put(tmp_path, "claims_cdc_2026-02-08.csv", "op,claim_id,amount,on\nc,C2,1,2026-02-08\n")
    again = command("pipeline", tmp_path / "contracts", "--engine", "duckdb", "--output", "json", "--quiet")
    read = {each["dataset"]: each["accepted"] for each in json.loads(again.stdout)["contracts"] if each["read"]}
    assert read == {"bronze_claims_cdc": 1}


def test_files_that_are_there_are_replaced_only_by_force(tmp_path: Path) -> None:
    put(tmp_path, "a.csv", "id\n1\n")
    arguments = ("bootstrap", "--landing", tmp_path / "landing", "--output-dir", tmp_path / "contracts")
    assert command(*arguments).exit_code == 0
    contract = tmp_path / "contracts" / "bronze_a.yaml"
    contract.write_text("# mine\n")
    (tmp_path / "landing" / "b.csv").write_text("id\n1\n")
    refused = command(*arguments)
    assert refused.exit_code != 0 and "LL489" in str(refused.exception)
    assert contract.read_text() == "# mine\n" and not (tmp_path / "contracts" / "bronze_b.yaml").exists()
    assert command(*arguments, "--force").exit_code == 0
    assert "bronze_a" in contract.read_text()
    assert "LL484" in str(command(*arguments, "--force", "--pattern", "*.xyz").exception)


VALUES = {
    "whole": lambda dice: str(dice.randint(-(10**6), 10**12)),
    "padded": lambda dice: f"{dice.randint(0, 999):05d}",
    "money": lambda dice: f"{dice.randint(-999, 99999)}.{dice.randint(0, 99):02d}",
    "real": lambda dice: f"{dice.random():.3e}",
    "truth": lambda dice: dice.choice(["true", "False", "yes", "N"]),
    "iso": lambda dice: f"{dice.randint(1950, 2050)}-{dice.randint(1, 12):02d}-{dice.randint(1, 28):02d}",
    "german": lambda dice: f"{dice.randint(1, 28):02d}.{dice.randint(1, 12):02d}.{dice.randint(1950, 2050)}",
    "moment": lambda dice: f"2026-02-{dice.randint(1, 28):02d}T{dice.randint(0, 23):02d}:00:0{dice.randint(0, 9)}Z",
    "clock": lambda dice: f"{dice.randint(13, 28)}/02/2026 {dice.randint(0, 23):02d}:{dice.randint(0, 59):02d}",
    "word": lambda dice: dice.choice(["open", "closed", "pa\"id", "ümläut", " blank ", "a,b"]),
    "mail": lambda dice: f"p{dice.randint(1, 99)}@example.com",
    "mixed": lambda dice: dice.choice(["1", "x", "2026-02-06", "1.5", "true"]),
    "nothing": lambda dice: "",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_no_value_of_the_sample_is_rejected_by_what_was_guessed_from_it(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    count = dice.choice([1, 25, 60])
    columns = dice.sample(sorted(VALUES), dice.randint(6, len(VALUES)))
    nulls = {name for name in columns if dice.random() < 0.4}
    for part in range(2):
        rows = [
            ["" if name in nulls and dice.random() < 0.3 else VALUES[name](dice) for name in columns]
            for _ in range(count)
        ]
        put(tmp_path, f"data_{part + 1}.csv", "".join(map(line, [columns, *rows])))
    told = run(tmp_path)["bronze_data"]
    assert (told["read"], told["accepted"], told["quarantined"]) == (2 * count, 2 * count, 0)


def test_the_documented_command_works_over_the_insurance_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate = copy_estate(tmp_path, monkeypatch)
    generator().generate(estate.landing, scale=0.02)
    example = "examples/insurance_elt"
    written = (
        f"lakelogic bootstrap --landing {example}/data/bronze --output-dir {example}/bootstrap_contracts "
        f'--registry {example}/bootstrap_contracts/_registry.yaml --format csv --pattern "*.csv"'
    )
    assert estate.run(written) == 0
    monkeypatch.chdir(tmp_path)
    registry = f"{example}/bootstrap_contracts/_registry.yaml"
    assert validate_paths([Path(registry)]).problems == ()
    done = command("pipeline", "--registry", registry, "--engine", "duckdb", "--output", "json", "--quiet")
    told = {each["dataset"]: each["status"] for each in json.loads(done.stdout)["contracts"]}
    assert done.exit_code == 0 and "bronze_claims_cdc" in told and set(told.values()) == {"succeeded"}
