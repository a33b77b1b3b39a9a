"""The rows and rules of the checked load."""

from __future__ import annotations

from pathlib import Path

COLUMNS = (
    "order_id", "customer_id", "email", "amount", "quantity", "status", "country", "order_date", "updated_at",
    "phone", "discount", "note",
)  # fmt: skip
CASTS = {
    "order_id": "BIGINT",
    "amount": "DECIMAL(12,2)",
    "quantity": "INT",
    "order_date": "DATE",
    "updated_at": "TIMESTAMP",
    "discount": "DOUBLE",
}
# `{name}` marks a column, so that the hand-written code can use its own names for the typed ones.
RULES = (
    "{amount} > 0",
    "{quantity} BETWEEN 1 AND 100",
    r"{email} RLIKE '^[^@ ]+@[^@ ]+\\.[a-z]+$'",
    "{customer_id} RLIKE '^C[0-9]{7}$'",
    r"{phone} RLIKE '^\\+[0-9]{6,14}$'",
    "{status} IN ('NEW', 'PAID', 'SHIPPED', 'DONE')",
    "{country} IN ('DE', 'FR', 'GB', 'US', 'JP')",
    "{order_date} >= DATE '2020-01-01'",
    "{discount} >= 0 AND {discount} <= 90",
    "length({note}) <= 200",
)
# Of each hundred rows, by the share of bad ones: those whose mail is none, and those whose discount is no number.
BAD = {0: (range(0), range(0)), 2: (range(1, 2), range(2, 3)), 50: (range(25), range(25, 50))}

_TYPES = {"BIGINT": "long", "DECIMAL(12,2)": "decimal(12,2)", "INT": "int", "DATE": "date", "TIMESTAMP": "timestamp",
          "DOUBLE": "double"}  # fmt: skip


def named(sql: str, prefix: str = "") -> str:
    """A rule with its marks replaced by column names."""
    for name in COLUMNS:
        sql = sql.replace(f"{{{name}}}", prefix + name)
    return sql


def more_rules(count: int) -> tuple[str, ...]:
    """So many rules: the ten, or the first of them, and further ones of the same kinds that hold for every row."""
    kinds = (
        "{{amount}} > -{n}", "{{quantity}} BETWEEN 1 AND 10{n}", "{{email}} <> 'nobody{n}'",
        "{{customer_id}} RLIKE '^C[0-9]{{1,{n}}}$'", "{{country}} NOT IN ('X{n}', 'Y{n}')", "{{status}} <> 'S{n}'",
        "{{order_date}} >= DATE '19{n:02d}-01-01'", "{{discount}} <= 9{n}", "length({{note}}) <= 2{n:02d}",
        "{{phone}} <> '{n}'",
    )  # fmt: skip
    further = [kinds[i % len(kinds)].format(n=10 + i // len(kinds)) for i in range(max(0, count - len(RULES)))]
    return (*RULES[:count], *further)


def contract(path: str, rules: int = len(RULES)) -> str:
    """The whole job, as LakeLogic's users write it."""
    lines = ["dataset: orders", f'source: {{ path: "{path}" }}', "model:", "  fields:"]
    for name in COLUMNS:
        required = ", required: true" if name == "order_id" else ""
        type_ = _TYPES[CASTS[name]] if name in CASTS else "string"
        lines.append(f'    - {{ name: {name}, type: "{type_}"{required} }}')
    lines += ["quality:", "  row_rules:", *[f"    - sql: >-\n        {named(rule)}" for rule in more_rules(rules)]]
    lines += ["materialization: { strategy: append, target_path: lake/orders }"]
    return "\n".join(lines) + "\n"


def generate(cache: Path, rows: int, source: str, bad: int = 2) -> Path:
    """Write the input once; half of the bad rows, in percent, break a rule, and the others a cast."""
    import duckdb

    cache.mkdir(parents=True, exist_ok=True)
    path = cache / (f"orders_{rows}.{source}" if bad == 2 else f"orders_{rows}_{bad}.{source}")
    mails, discounts = (f"i % 100 >= {each.start} AND i % 100 < {each.stop}" for each in BAD[bad])
    if path.exists():
        return path
    query = f"""
        SELECT i AS order_id, 'C' || lpad((hash(i) % 1000000)::VARCHAR, 7, '0') AS customer_id,
          CASE WHEN {mails} THEN 'not a mail'
            ELSE 'user' || (i % 500000) || '@example' || (i % 50) || '.com' END AS email,
          (1 + hash(i * 3) % 100000) / 100.0 AS amount, 1 + hash(i * 5) % 20 AS quantity,
          ['NEW', 'PAID', 'SHIPPED', 'DONE'][1 + (i % 4)::INT] AS status,
          ['DE', 'FR', 'GB', 'US', 'JP'][1 + (i % 5)::INT] AS country,
          DATE '2026-01-01' + (i % 300)::INT AS order_date,
          TIMESTAMP '2026-01-01' + to_seconds((i * 7) % 25000000) AS updated_at,
          '+49' || (100000000 + hash(i * 7) % 900000000) AS phone,
          CASE WHEN {discounts} THEN 'abc' ELSE ((hash(i * 11) % 500) / 10.0)::VARCHAR END AS discount,
          'note for order ' || i AS note
        FROM range({rows}) t(i)"""
    text = "SELECT " + ", ".join(f"{name}::VARCHAR AS {name}" for name in COLUMNS) + f" FROM ({query})"
    form = {"csv": "FORMAT csv, HEADER", "jsonl": "FORMAT json", "parquet": "FORMAT parquet"}[source]
    if source == "jsonl":  # numbers as numbers, as programs write them
        text = f"SELECT * FROM ({query})"
    # Several files, as a landing folder has them; one row group each would leave cores idle.
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({text}) TO '{path}.part' ({form})")
    Path(f"{path}.part").rename(path)
    return path
