"""The reading options that a contract may give, per format; all others are refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from lakelogic.core.errors import PlanError

_ALIASES = {
    "delimiter": "sep",
    "null_value": "nullValue",
    "multi_line": "multiLine",
    "multiline": "multiLine",
    "row_tag": "rowTag",
    "charset": "encoding",
    "merge_schema": "mergeSchema",
}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "csv": ("header", "sep", "quote", "escape", "encoding", "nullValue", "multiLine"),
    "jsonl": ("encoding",),
    "json": ("encoding", "multiLine"),
    "text": ("encoding",),
    "xml": ("rowTag", "encoding"),
    "parquet": ("mergeSchema",),
    "orc": ("mergeSchema",),
    "avro": (),
    "delta": (),
    "frame": (),
}
FORMATS = tuple(_ALLOWED)
# The text reader splits lines at single bytes, so only these can be decoded after it.
_ENCODINGS = {"utf-8": "UTF-8", "utf8": "UTF-8", "iso-8859-1": "ISO-8859-1", "latin1": "ISO-8859-1",
              "latin-1": "ISO-8859-1", "us-ascii": "UTF-8", "ascii": "UTF-8"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How the lines of a CSV file are split."""

    header: bool = True
    sep: str = ","
    quote: str = '"'
    escape: str = '"'
    encoding: str = "UTF-8"
    null_value: str | None = None
    multi_line: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether Spark's parser keeps its place: not among separators of more than one letter of Java's."""
        return len(self.sep.encode("utf-16-le")) == 2 and self.sep != "\\"

    @property
    def quoted_text(self) -> str:
        """What may stand between two quotes; this and the next three are patterns that Java and Python read alike."""
        mark, escape = re.escape(self.quote), re.escape(self.escape)
        if not self.escape:
            return f"[^{mark}]*+"
        pair = mark * 2 if escape == mark else rf"{escape}[\s\S]"
        return f"[^{mark}{escape}]*+(?:{pair}[^{mark}{escape}]*+)*+"

    @property
    def quoted_field(self) -> str:
        """A field in quotes, and the blanks behind it."""
        blanks = "".join(re.escape(blank) for blank in " \t" if blank != self.sep)
        return f"{re.escape(self.quote)}{self.quoted_text}{re.escape(self.quote)}[{blanks}]*+"

    @property
    def plain_field(self) -> str:
        """A field that does not begin with a quote, up to the next separator."""
        return f"(?!{re.escape(self.quote)}){self._letter()}*+"

    @property
    def unquoted_field(self) -> str:
        """A field without any quote."""
        return f"{self._letter(but=self.quote)}*+"

    def _letter(self, but: str = "") -> str:
        if len(self.sep) == 1:
            return f"[^{re.escape(self.sep + but)}]"
        letter = f"[^{re.escape(but)}]" if but else r"[\s\S]"
        return f"(?:(?!{re.escape(self.sep)}){letter})"


def parse_options(format_: str, options: Mapping[str, str]) -> dict[str, str]:
    """Check the options of a format and give them their one spelling."""
    if format_ not in _ALLOWED:
        raise PlanError(f"unknown source format `{format_}`", hint=f"one of: {', '.join(_ALLOWED)}")
    allowed = _ALLOWED[format_]
    given = {_ALIASES.get(name, name): str(value) for name, value in options.items()}
    for name in given:
        if name not in allowed:
            known = [*allowed, *(alias for alias, meant in _ALIASES.items() if meant in allowed)]
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"known options: {', '.join(allowed) or 'none'}"
            raise PlanError(f"option `{name}` is not supported for format `{format_}`", hint=hint)
    return given


def parse_csv_options(options: Mapping[str, str]) -> CsvOptions:
    given = parse_options("csv", options)
    quote = given.get("quote", '"')
    parsed = CsvOptions(
        header=_flag(given, "header", True),
        sep=given.get("sep", ",").replace("\\t", "\t"),
        quote=quote,
        # A doubled quote stands for itself (RFC 4180); Spark's default, a backslash, would keep both.
        escape=given.get("escape", quote),
        encoding=parse_encoding(given),
        null_value=given.get("nullValue"),
        multi_line=_flag(given, "multiLine", False),
    )
    _check_style(parsed)
    return parsed


def _check_style(style: CsvOptions) -> None:
    """Refuse letters with which a line means nothing, or means different things to different readers."""
    for name, letter in (("quote", style.quote), ("escape", style.escape)):
        if len(letter.encode("utf-16-le")) > 2 or letter in (" ", "\t", "\r", "\n"):
            raise PlanError(f"option `{name}` is {letter!r}", hint="one letter that is no blank, or '' for none")
        if letter and letter in style.sep:
            raise PlanError(f"options `{name}` and `sep` are both {letter!r}", hint="a separator must stand for itself")
    if not style.sep or set(style.sep) & {"\r", "\n"}:
        raise PlanError(f"option `sep` is {style.sep!r}", hint="one or more letters that end no line")


def parse_encoding(given: Mapping[str, str]) -> str:
    wanted = given.get("encoding", "UTF-8")
    if wanted.lower() not in _ENCODINGS:
        raise PlanError(f"encoding `{wanted}` is not supported", hint="one of: UTF-8, ISO-8859-1, US-ASCII")
    return _ENCODINGS[wanted.lower()]


def _flag(given: Mapping[str, str], name: str, default: bool) -> bool:
    value = given.get(name, str(default)).lower()
    if value not in {"true", "false"}:
        raise PlanError(f"option `{name}` is `{value}`", hint="write true or false")
    return value == "true"
