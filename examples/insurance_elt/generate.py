"""Write the files that a policy administration system would have sent from 2026-02-01 to 2026-02-07.

The same seed gives the same bytes. One row in twenty-five has something wrong with it, as real ones do: dates that do
not exist, references to nothing, doubles, negative amounts, bad e-mail addresses, rows that come days late.

    python generate.py                   # about 2,500 rows, in data/bronze beside this file
    python generate.py --scale 20        # twenty times as many
    python generate.py --late            # one file more: claims of 02 and 03 February that a vendor forgot
"""

from __future__ import annotations

import argparse
import csv
import random
from datetime import date, datetime, time, timedelta
from pathlib import Path

FIRST_DAY, DAYS = date(2026, 2, 1), 7
CITIES = {
    "AT": ("Vienna", "Graz"), "CH": ("Zurich", "Bern"), "DE": ("Berlin", "Hamburg"), "ES": ("Madrid", "Valencia"),
    "FR": ("Paris", "Lyon"), "GB": ("London", "Leeds"), "IT": ("Rome", "Turin"), "NL": ("Utrecht", "Delft"),
    "NO": ("Oslo", "Bergen"), "SE": ("Stockholm", "Lund"),
}  # fmt: skip
FIRST_NAMES = ("Ada", "Alan", "Barbara", "Claude", "Edsger", "Emmy", "Grace", "John", "Katherine", "Radia", "Tim")
LAST_NAMES = ("Bergmann", "Conti", "Dubois", "Evans", "Fischer", "Garcia", "Hansen", "Jansen", "Keller", "Lindqvist")
TIERS = ("bronze", "silver", "gold")
PRODUCTS = {"HOME": 240, "LIAB": 90, "MOTOR": 620, "PET": 180, "TRAVEL": 60}

CUSTOMER = ("extract_date", "customer_id", "name", "email", "phone", "city", "country", "tier", "updated_at")
POLICY = ("extract_date", "policy_id", "customer_id", "product", "start_date", "end_date", "premium", "status",
          "updated_at")  # fmt: skip
CLAIM = ("extract_date", "op", "seq", "claim_id", "policy_id", "incident_date", "reported_on", "amount", "status",
         "changed_at")  # fmt: skip
Row = dict[str, object]


class Company:
    """What the system knows; each day changes some of it, and sends what changed."""

    def __init__(self, seed: int, scale: float) -> None:
        self.random = random.Random(seed)
        self.scale = scale
        self.customers: dict[str, Row] = {}
        self.policies: dict[str, Row] = {}
        self.claims: dict[str, Row] = {}
        self.sequence = self.reported = self.today = 0

    def some(self, number: int) -> int:
        return max(3, round(number * self.scale))

    def moment(self, day: date) -> str:
        """A time of the day, never the same one twice for what happens in its order."""
        return datetime.combine(day, time(self.random.randrange(6, 22), self.random.randrange(60))).isoformat()

    def customers_of(self, day: date) -> list[Row]:
        new = [self._new_customer(day) for _ in range(self.some(300 if day == FIRST_DAY else 20))]
        fresh = {row["customer_id"] for row in new}
        known = [row for key, row in self.customers.items() if key not in fresh]
        moved = self.random.sample(known, min(len(known), self.some(25)))
        return new + [self._changed_customer(row, day) for row in moved]

    def _new_customer(self, day: date) -> Row:
        key = f"C{10001 + len(self.customers)}"
        first, last = self.random.choice(FIRST_NAMES), self.random.choice(LAST_NAMES)
        country = self.random.choice(list(CITIES))
        row: Row = {
            "customer_id": key, "name": f"{first} {last}", "email": f"{first}.{last}.{key}@example.com".lower(),
            "phone": f"+{self.random.randrange(30, 50)} 555 {self.random.randrange(10**6):06}"
            if self.random.random() > 0.1 else "",
            "city": self.random.choice(CITIES[country]), "country": country, "tier": self.random.choice(TIERS),
            "updated_at": self.moment(day if day > FIRST_DAY else day - timedelta(days=self.random.randrange(1, 200))),
        }  # fmt: skip
        self.customers[key] = row
        return dict(row)

    def _changed_customer(self, row: Row, day: date) -> Row:
        kind = self.random.randrange(3)
        if kind == 0:
            row["tier"] = self.random.choice([tier for tier in TIERS if tier != row["tier"]])
        elif kind == 1:
            row["country"] = self.random.choice(list(CITIES))
            row["city"] = self.random.choice(CITIES[str(row["country"])])
        else:
            row["phone"] = f"+49 555 {self.random.randrange(10**6):06}"  # not tracked: opens no version
        row["updated_at"] = self.moment(day)
        return dict(row)

    def policies_of(self, day: date) -> list[Row]:
        new = [self._new_policy(day) for _ in range(self.some(400 if day == FIRST_DAY else 35))]
        fresh = {row["policy_id"] for row in new}
        known = [row for key, row in self.policies.items() if key not in fresh]
        return new + [
            self._changed_policy(row, day) for row in self.random.sample(known, min(len(known), self.some(15)))
        ]

    def _new_policy(self, day: date) -> Row:
        key = f"P{200001 + len(self.policies)}"
        product = self.random.choice(list(PRODUCTS))
        start = day - timedelta(days=self.random.randrange(0, 600)) if day == FIRST_DAY else day
        row: Row = {
            "policy_id": key, "customer_id": self.random.choice(list(self.customers)), "product": product,
            "start_date": start, "end_date": start + timedelta(days=730) if self.random.random() > 0.3 else "",
            "premium": f"{PRODUCTS[product] * self.random.uniform(0.7, 1.6):.2f}", "status": "active",
            "updated_at": self.moment(day),
        }  # fmt: skip
        self.policies[key] = row
        return dict(row)

    def _changed_policy(self, row: Row, day: date) -> Row:
        row["status"] = self.random.choice(("active", "lapsed", "cancelled"))
        row["premium"] = f"{float(str(row['premium'])) * self.random.uniform(0.95, 1.1):.2f}"
        row["updated_at"] = self.moment(day)
        return dict(row)

    def claims_of(self, day: date) -> list[Row]:
        self.today = 0
        events = [self._new_claim(day) for _ in range(self.some(110))]
        for claim in self.random.sample(list(self.claims.values()), min(len(self.claims), self.some(60))):
            events.append(self._changed_claim(claim, day))
        return events

    def _new_claim(self, day: date) -> Row:
        self.reported += 1
        key = f"K{500000 + self.reported}"
        policy = self.random.choice(list(self.policies.values()))
        start = policy["start_date"]
        assert isinstance(start, date)
        incident = max(start, day - timedelta(days=self.random.randrange(0, 12)))
        typical = 0.25 * PRODUCTS[str(policy["product"])]
        claim: Row = {
            "op": "I", "claim_id": key, "policy_id": policy["policy_id"], "incident_date": incident,
            "reported_on": day, "amount": f"{self.random.lognormvariate(0, 1) * typical:.2f}", "status": "open",
        }  # fmt: skip
        self.claims[key] = claim
        return self._event(claim, day)

    def _changed_claim(self, claim: Row, day: date) -> Row:
        if self.random.random() < 0.06:
            del self.claims[str(claim["claim_id"])]
            return self._event({**claim, "op": "D"}, day)
        claim |= {"op": "U", "status": self.random.choice(("approved", "paid", "paid", "rejected"))}
        return self._event(claim, day)

    def _event(self, claim: Row, day: date) -> Row:
        self.sequence += 1
        self.today += 1
        moment = datetime.combine(day, time(8)) + timedelta(seconds=5 * self.today)
        return {**claim, "seq": self.sequence, "changed_at": moment.isoformat()}

    def spoil(self, rows: list[Row], damage: dict[str, tuple[object, ...]]) -> list[Row]:
        """Break some rows: each gets a wrong value, or is sent a second time."""
        broken = []
        for row in rows:
            chance = self.random.random()
            if chance < 0.035:
                column = self.random.choice(list(damage))
                row = {**row, column: self.random.choice(damage[column])}
            broken.append(row)
            if 0.035 <= chance < 0.045:
                broken.append(dict(row))
        return broken


BAD_CUSTOMERS = {
    "email": ("not an address", "@example.com", ""), "country": ("XX", "ZZ"), "tier": ("platinum",),
    "updated_at": ("2026-02-30T10:00:00", "yesterday"), "customer_id": ("", "10001"),
}  # fmt: skip
BAD_POLICIES = {
    "premium": ("-120.00", "n/a"), "product": ("BOAT",), "start_date": ("2026-13-01", "01/02/2026"),
    "end_date": ("1999-12-31",), "customer_id": ("",),
}  # fmt: skip
BAD_CLAIMS = {
    "amount": ("-75.50", "1.200,00"), "policy_id": ("P999999", ""), "incident_date": ("2026-02-31", "2019-05-05"),
    "status": ("maybe",), "op": ("X",),
}  # fmt: skip


def write(path: Path, columns: tuple[str, ...], rows: list[Row], day: date) -> int:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "extract_date": day} for row in rows)
    return len(rows)


def generate(folder: Path, *, seed: int = 20260201, scale: float = 1.0, days: int = DAYS, late: bool = False) -> int:
    """Write the files of the first days; gives the number of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    company = Company(seed, scale)
    written = 0
    behind: list[Row] = []
    forgotten: list[Row] = []
    for day in (FIRST_DAY + timedelta(days=number) for number in range(DAYS)):
        customers = company.spoil(company.customers_of(day), BAD_CUSTOMERS)
        policies = company.spoil(company.policies_of(day), BAD_POLICIES)
        claims = company.spoil(company.claims_of(day), BAD_CLAIMS)
        late_ones, claims = claims[: company.some(4)], claims[company.some(4) :]
        # Each day some events come with the next day's file only; those of two days a vendor forgets to send.
        lost = day.day in (2, 3)
        claims, behind = behind + claims, [] if lost else late_ones
        forgotten += late_ones if lost else []
        if (day - FIRST_DAY).days < days:
            written += write(folder / f"customers_{day}.csv", CUSTOMER, customers, day)
            written += write(folder / f"policies_{day}.csv", POLICY, policies, day)
            written += write(folder / f"claims_cdc_{day}.csv", CLAIM, claims, day)
    if late:
        day = FIRST_DAY + timedelta(days=DAYS)
        written += write(folder / f"claims_cdc_{day}_late.csv", CLAIM, forgotten, day)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data" / "bronze")
    parser.add_argument("--seed", type=int, default=20260201)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--days", type=int, default=DAYS, choices=range(1, DAYS + 1), metavar="1-7")
    parser.add_argument("--late", action="store_true")
    told = parser.parse_args()
    rows = generate(told.out, seed=told.seed, scale=told.scale, days=told.days, late=told.late)
    print(f"{rows:,} rows in {told.out}")


if __name__ == "__main__":
    main()
