"""Generated estates: entities that go through four layers, and facts where they meet."""

from __future__ import annotations

from pathlib import Path

LAYERS = ("reference", "bronze", "silver", "gold")


def write_estate(folder: Path, entities: int, *, engine: str = "duckdb", facts: int = 0) -> Path:
    """Bronze, silver and gold of each entity, one reference table that all silver ones join; gives the registry."""
    contracts = folder / "contracts"
    contracts.mkdir(parents=True)
    (contracts / "_system.yaml").write_text(
        f"system: shop\nengine: {engine}\nstorage: {{ landing: ../landing, lake: ../lake }}\n"
    )
    (contracts / "_domain.yaml").write_text("domain: sales\nowner: sales@example.com\n")
    entries = [_entry("countries", reference=_reference(folder, contracts))]
    for number in range(entities):
        entries.append(_entity(folder, contracts, f"e{number:03d}"))
    for number in range(facts):
        names = [f"e{(number * 3 + each) % entities:03d}" for each in range(3)]
        path = _write(contracts, f"gold_fact_{number}", _fact(f"gold_fact_{number}", names))
        entries.append(_entry(f"fact_{number}", gold=path))
    registry = contracts / "_registry.yaml"
    registry.write_text("entries:\n" + "".join(entries))
    return registry


def land(folder: Path, entity: str, file: str, rows: list[tuple[object, object, object]]) -> None:
    path = folder / "landing" / entity / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("id,country,amount\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))


def _entry(entity: str, **contracts: str) -> str:
    listed = ", ".join(f"{layer}: {path}" for layer, path in contracts.items())
    return f"  - entity: {entity}\n    contracts: {{ {listed} }}\n"


def _write(contracts: Path, name: str, text: str) -> str:
    (contracts / f"{name}.yaml").write_text(text)
    return f"{name}.yaml"


def _reference(folder: Path, contracts: Path) -> str:
    (folder / "landing").mkdir(exist_ok=True)
    (folder / "landing" / "countries.csv").write_text("code,name\nDE,Germany\nFR,France\n")
    return _write(
        contracts,
        "ref_countries",
        """\
dataset: ref_countries
source: { path: "${storage.landing}/countries.csv", load_mode: incremental }
model: { fields: [{ name: code, type: string, required: true }, { name: name, type: string }] }
materialization: { target_path: "${storage.lake}/ref_countries" }
""",
    )


def _entity(folder: Path, contracts: Path, entity: str) -> str:
    land(folder, entity, "day1.csv", [(1, "DE", 10), (2, "FR", 20), (3, "DE", -1)])
    bronze = f"""\
dataset: bronze_{entity}
source: {{ path: "${{storage.landing}}/{entity}", pattern: "*.csv", load_mode: incremental }}
model:
  fields: [{{ name: id, type: long }}, {{ name: country, type: string }}, {{ name: amount, type: int }}]
materialization: {{ target_path: "${{storage.lake}}/bronze_{entity}" }}
"""
    silver = f"""\
dataset: silver_{entity}
source: {{ path: "${{storage.lake}}/bronze_{entity}", format: delta, load_mode: incremental }}
links: [{{ name: countries, dataset: ref_countries }}]
model:
  fields:
    - {{ name: id, type: long, required: true }}
    - {{ name: country, type: string }}
    - {{ name: amount, type: int }}
    - {{ name: country_name, type: string }}
transformations:
  - lookup: {{ field: country_name, reference: countries, on: country, key: code, value: name, default: Unknown }}
quality: {{ row_rules: [{{ name: positive, sql: "amount > 0" }}] }}
materialization: {{ target_path: "${{storage.lake}}/silver_{entity}" }}
"""
    gold = f"""\
dataset: gold_{entity}
upstream: [silver_{entity}]
source: {{ path: "${{storage.lake}}/silver_{entity}", format: delta, load_mode: incremental }}
model: {{ fields: [{{ name: id, type: long }}, {{ name: country_name, type: string }}, {{ name: amount, type: int }}] }}
materialization: {{ target_path: "${{storage.lake}}/gold_{entity}" }}
"""
    return _entry(
        entity,
        bronze=_write(contracts, f"bronze_{entity}", bronze),
        silver=_write(contracts, f"silver_{entity}", silver),
        gold=_write(contracts, f"gold_{entity}", gold),
    )


def _fact(name: str, entities: list[str]) -> str:
    first, *others = entities
    links = ", ".join(f"{{ name: {each}, dataset: gold_{each} }}" for each in others)
    return f"""\
dataset: {name}
source: {{ path: "${{storage.lake}}/gold_{first}", format: delta, load_mode: incremental }}
links: [{links}]
model: {{ fields: [{{ name: id, type: long }}, {{ name: amount, type: int }}] }}
materialization: {{ target_path: "${{storage.lake}}/{name}" }}
"""
