"""Columns that are probably about a person: by their names, or by what their values look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from lakelogic.onboard.bootstrap.names import snake

_OF_PERSONS = "first|last|full|given|family|middle|maiden|birth|holder|contact|person|sur|fore"
_NATIONAL = "ssn|social_security|national_?id|nin|nino|bsn|cpf|aadhaar|passport|tax_?id|tin|pesel|personnummer"
_NAMES: tuple[tuple[str, str], ...] = (
    ("an e-mail address", r"(^|_)(e_?mail|mail)(_?addr(ess)?)?(_|$)"),
    ("a telephone number", r"(^|_)(tele)?phone|(^|_)(mobile|handy|fax|tel|msisdn)(_|$)"),
    ("an IBAN", r"(^|_)iban(_|$)"),
    ("a person's name", rf"(^|_)({_OF_PERSONS})_?name(_|$)"),
    ("a person's name", r"(^|_)(vorname|nachname)(_|$)"),
    ("a date of birth", r"(^|_)(dob|birth|birthday|birthdate|date_of_birth|geburtsdatum|born)(_|$)"),
    ("a national id", rf"(^|_)({_NATIONAL})(_?(no|nr|number|num))?(_|$)"),
    ("a licence of a person", r"(^|_)(driver|driving)s?_licen[cs]e"),
    ("an address", r"(^|_)(street|address|addr|strasse|house_?number)(_|$|_?line)"),
    ("a card number", r"(^|_)(credit_?card|card_?(no|nr|number|num)|pan)(_|$)"),
    ("an IP address", r"(^|_)(ip|ip_?addr(ess)?)(_|$)"),
)
_NOT_A_PERSON = re.compile(r"(^|_)(is|has|count|num_of|type|status|flag|verified|opt_in)(_|$)")
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_PHONE = re.compile(r"(\+\d|\(?0)[\d ()/.-]{6,18}\d")
_SSN = re.compile(r"\d{3}-\d{2}-\d{4}")
_IP = re.compile(r"(\d{1,3}\.){3}\d{1,3}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_LEAST, _SHARE = 3, 0.8


def find_personal(name: str, values: Collection[str]) -> str | None:
    """Why a column is probably personal, in words; None where nothing speaks for it. No value is ever quoted."""
    words = snake(name)
    if not _NOT_A_PERSON.search(words):
        for what, pattern in _NAMES:
            if re.search(pattern, words):
                return f"{what} by its name"
    if len(values) < _LEAST:
        return None
    for what, fits in _LOOKS.items():
        fitting = sum(fits(value.strip()) for value in values)
        if fitting >= _SHARE * len(values):
            return f"{fitting} of {len(values)} different values look like {what}"
    return None


def _is_phone(value: str) -> bool:
    separated = value.startswith("+") or any(mark in value for mark in " ()/-")
    return separated and _PHONE.fullmatch(value) is not None and 7 <= sum(map(str.isdigit, value)) <= 15


def _is_iban(value: str) -> bool:
    compact = value.replace(" ", "")
    if not _IBAN.fullmatch(compact):
        return False
    digits = "".join(str(int(char, 36)) for char in compact[4:] + compact[:4])
    return int(digits) % 97 == 1


def _is_ip(value: str) -> bool:
    return _IP.fullmatch(value) is not None and all(int(part) < 256 for part in value.split("."))


_LOOKS: dict[str, Callable[[str], bool]] = {
    "e-mail addresses": lambda value: _EMAIL.fullmatch(value) is not None,
    "IBANs": _is_iban,
    "social security numbers": lambda value: _SSN.fullmatch(value) is not None,
    "IP addresses": _is_ip,
    "telephone numbers": _is_phone,
}
