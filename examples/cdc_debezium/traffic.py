"""Changes to the customers in PostgreSQL, as an application would make them: never the same twice, seeded."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping

import stack

TABLE = """
CREATE TABLE customers (
  customer_id integer PRIMARY KEY,
  name text NOT NULL,
  email text,
  tier text,
  balance numeric(12,2),
  born date,
  updated_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO customers (customer_id, name, email, tier, balance, born)
SELECT n, 'Customer ' || n, 'c' || n || '@example.com', 'bronze', n / 100.0, DATE '1970-01-01' + n
FROM generate_series(1, 300) AS n;
"""
ROWS = """
SELECT json_build_array(customer_id, name, email, tier, balance::text, born::text,
  to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'))
FROM customers ORDER BY customer_id
"""


class Traffic(threading.Thread):
    """Changes rows until it is told to stop."""

    def __init__(self, ports: Mapping[str, int], seed: int, pause_s: float = 0.3) -> None:
        super().__init__(daemon=True)
        self.transactions = 0
        self._ports, self._random, self._pause_s = ports, random.Random(seed), pause_s
        self._next_id = 301
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(self._pause_s):
            statements = [self._statement() for _ in range(self._random.randint(1, 12))]
            end = "ROLLBACK" if self._random.random() < 0.1 else "COMMIT"
            stack.psql(self._ports, ";\n".join(["BEGIN", *statements, end]))
            self.transactions += 1

    def stop(self) -> None:
        self._over.set()
        self.join()

    def _statement(self) -> str:
        chosen, some = self._random.random(), f"customer_id = {self._random.randint(1, self._next_id)}"
        match chosen:
            case _ if chosen < 0.25:
                self._next_id += 1
                return f"INSERT INTO customers (customer_id, name, tier) VALUES ({self._next_id}, 'Näw', 'silver')"
            case _ if chosen < 0.40:
                return f"DELETE FROM customers WHERE {some}"
            case _ if chosen < 0.50:
                again = f"SELECT {self._random.randint(1, 300)}, 'Back', 'gold', -0.01, DATE '2000-02-29'"
                return f"INSERT INTO customers (customer_id, name, tier, balance, born) {again} ON CONFLICT DO NOTHING"
            case _ if chosen < 0.55:
                self._next_id += 1
                return f"UPDATE customers SET customer_id = {self._next_id} WHERE {some}"
            case _ if chosen < 0.65:
                return f"UPDATE customers SET email = NULL, born = NULL, updated_at = now() WHERE {some}"
            case _:
                tier, amount = self._random.choice(["bronze", "silver", "gold"]), self._random.randint(-9999, 9999)
                changed = f"tier = '{tier}', balance = {amount / 100}, updated_at = clock_timestamp()"
                return f"UPDATE customers SET {changed} WHERE {some}"
