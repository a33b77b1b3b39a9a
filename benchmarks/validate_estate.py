"""How long `lakelogic validate` takes for an estate: 300 and 1,000 contracts over four layers, no JVM.

python benchmarks/validate_estate.py            # both sizes
python benchmarks/validate_estate.py 300        # one size
python benchmarks/validate_estate.py 300 --profile
"""

from __future__ import annotations

import cProfile
import json
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SIZES = (300, 1000)
BRONZE = """\
version: "1.0.0"
dataset: bronze_{name}
info: {{ title: "Raw {name}", target_layer: bronze, tags: [raw] }}
source: {{ path: "${{storage.landing}}/{name}", pattern: "*.csv", load_mode: incremental }}
model:
  fields:
{fields}
materialization: {{ strategy: append, target_path: "${{storage.lake}}/bronze/{name}" }}
"""
SILVER = """\
version: "1.0.0"
dataset: silver_{name}
info: {{ title: "Clean {name}", target_layer: silver }}
upstream: [bronze_{name}]
source: {{ path: "${{storage.lake}}/bronze/{name}", format: delta, load_mode: incremental }}
links: [{{ name: countries, dataset: ref_countries, columns: [code, name] }}]
model:
  fields:
{fields}
    - {{ name: country_name, type: string }}
transformations:
  - trim: [email, status]
  - sql: "SELECT *, LOWER(email) AS email, '{name}' AS origin FROM source"
    phase: pre
  - deduplicate: {{ on: [id], order_by: [updated_at desc] }}
  - lookup: {{ field: country_name, reference: countries, on: country, key: code, value: name, default: Unknown }}
quality:
  row_rules:
    - {{ name: mail, sql: "email LIKE '%@%.%'" }}
    - {{ name: positive, sql: "amount > {number}", category: validity }}
    - {{ name: net, sql: "amount + {number} >= fee OR fee IS NULL" }}
    - {{ name: dates, sql: "opened_on <= COALESCE(closed_on, DATE '9999-12-31') AND id > {number}" }}
    - {{ name: length, sql: "LENGTH(TRIM(note)) < 4{number}", severity: warning }}
    - not_null: [id, email]
    - accepted_values: {{ field: status, values: [open, closed, void] }}
    - range: {{ field: score, min: 0, max: 100 }}
    - regex_match: {{ field: country, pattern: "^[A-Z]{{2}}$" }}
    - {{ name: score_of_open, sql: "CASE WHEN status = 'open' THEN score > {number} ELSE TRUE END" }}
  dataset_rules:
    - unique: [id]
    - row_count_between: {{ min: 1 }}
materialization: {{ strategy: merge, primary_key: [id], target_path: "${{storage.lake}}/silver/{name}" }}
"""
GOLD = """\
version: "1.0.0"
dataset: gold_{name}
info: {{ title: "{name} by country", target_layer: gold }}
source: {{ path: "${{storage.lake}}/silver/{name}", format: delta }}
transformations:
  - sql: "SELECT *, amount - COALESCE(fee, {number}) AS net FROM source WHERE status <> 'void'"
  - rollup:
      group_by: [country_name, status]
      aggregations: {{ total: "SUM(net)", orders: "COUNT(*)", average: "AVG(net)" }}
materialization: {{ strategy: overwrite, target_path: "${{storage.lake}}/gold/{name}" }}
"""
REFERENCE = """\
dataset: ref_countries
source: { path: "${storage.landing}/countries.csv" }
model: { fields: [{ name: code, type: string, required: true }, { name: name, type: string }] }
materialization: { strategy: overwrite, target_path: "${storage.lake}/reference/countries" }
"""
FIELDS = """\
    - { name: id, type: long, required: true }
    - { name: email, type: string, required: true, pii: true }
    - { name: status, type: string, max_length: 10 }
    - { name: country, type: string }
    - { name: amount, type: "decimal(12,2)" }
    - { name: fee, type: "decimal(12,2)" }
    - { name: score, type: int }
    - { name: note, type: string }
    - { name: opened_on, type: date }
    - { name: closed_on, type: date }
    - { name: updated_at, type: timestamp }
    - { name: active, type: boolean }"""


def write_estate(folder: Path, contracts: int) -> Path:
    """An estate of so many contracts: a third each of bronze, silver and gold, and one of reference data."""
    root = folder / "contracts"
    root.mkdir(parents=True)
    (root / "_system.yaml").write_text("system: shop\nstorage: { landing: ../landing, lake: ../lake }\n")
    (root / "_domain.yaml").write_text("domain: sales\nowner: sales@example.com\n")
    (root / "ref_countries.yaml").write_text(REFERENCE)
    entries = ["entries:\n  - { entity: countries, contracts: { reference: ref_countries.yaml } }\n"]
    for number in range((contracts - 1) // 3 + 1):
        name = f"e{number:04d}"
        paths = []
        for layer, text in (("bronze", BRONZE), ("silver", SILVER), ("gold", GOLD)):
            if number * 3 + len(paths) + 1 < contracts:
                (root / f"{layer}_{name}.yaml").write_text(text.format(name=name, number=number, fields=FIELDS))
                paths.append(f"{layer}: {layer}_{name}.yaml")
        if paths:
            entries.append(f"  - {{ entity: {name}, contracts: {{ {', '.join(paths)} }} }}\n")
    (root / "_registry.yaml").write_text("".join(entries))
    return root


def measure(contracts: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        root = write_estate(Path(folder), contracts)
        seconds = []
        for _ in range(3):
            begun = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "lakelogic", "validate", str(root)], capture_output=True, text=True, check=False
            )
            seconds.append(time.perf_counter() - begun)
        said = done.stderr.strip() or done.stdout
        print(
            f"{contracts} contracts: {min(seconds):.2f} s (of three: {', '.join(f'{s:.2f}' for s in seconds)}); {said}",
            file=sys.stderr,
        )
    return {"contracts": contracts, "median_s": statistics.median(seconds), "seconds": seconds}


def profile(contracts: int) -> None:
    from lakelogic.driver.validate import validate_paths

    with tempfile.TemporaryDirectory() as folder:
        root = write_estate(Path(folder), contracts)
        profiler = cProfile.Profile()
        profiler.runcall(validate_paths, [root])
        pstats.Stats(profiler).sort_stats("cumulative").print_stats(45)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)


if __name__ == "__main__":
    sizes = [int(word) for word in sys.argv[1:] if word.isdigit()] or list(SIZES)
    if "--profile" in sys.argv:
        for size in sizes:
            profile(size)
    else:
        found = [measure(size) for size in sizes]
        if "--json" in sys.argv:
            print(json.dumps(found))
