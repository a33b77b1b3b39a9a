"""Java's regular expressions in RE2's words; what RE2 cannot say is refused by name."""

from __future__ import annotations

import re

from lakelogic.core.errors import CapabilityError

# In Java, `.` stops at every line end and `$` also matches before the last one.
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_DOT = f"[^{_LINE_ENDS}]"
_END = rf"(?:\r\n|[{_LINE_ENDS}])?\z"
_ESCAPES = {
    **{letter: f"\\{letter}" for letter in "dDwWbBAztnrfa"},
    "s": r"[ \t\n\x0b\f\r]",
    "S": r"[^ \t\n\x0b\f\r]",
    "h": r"[ \t\x{a0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]",
    "v": r"[\n\x0b\f\r\x{85}\x{2028}\x{2029}]",
    "e": r"\x1b",
    "Z": _END,
}
_IN_CLASS = {**{k: _ESCAPES[k] for k in "dDwWtnrfa"}, "s": r" \t\n\x0b\f\r", "e": r"\x1b"}
_GROUP = re.compile(r"\(\?(?:[:]|[is]+[:)]|<[A-Za-z][A-Za-z0-9]*>)")
_CODE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\})")
_PROPERTY = re.compile(r"\\[pP](?:\{(?:L|Lu|Ll|N|Nd|P|S|Z|Zs)\}|[LNPSZ])")


def to_re2(pattern: str) -> str:
    """Translate one pattern; `regexp_matches` searches anywhere, as RLIKE does."""
    if "(?i" in pattern and not pattern.isascii():
        raise _refused(pattern, "(?i) with letters beyond ASCII")
    out: list[str] = []
    at, in_class = 0, False
    while at < len(pattern):
        piece, length, in_class = _next(pattern, at, in_class)
        out.append(piece)
        at += length
    return "".join(out)


def to_re2_replacement(text: str) -> str:
    r"""`$1` becomes `\1`, and a plain backslash is doubled."""
    out, at = "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            out += "\\\\" if text[at + 1] == "\\" else text[at + 1]
            at += 2
        elif char == "$":
            group = re.match(r"\$([0-9])(?![0-9])", text[at:])
            if not group:
                raise _refused(text, "a replacement with `$` that is not a single group number")
            out += f"\\{group[1]}"
            at += 2
        else:
            out += char
            at += 1
    return out


def _next(pattern: str, at: int, in_class: bool) -> tuple[str, int, bool]:
    char = pattern[at]
    if char == "\\":
        piece, length = _escape(pattern, at, in_class)
        return piece, length, in_class
    if in_class:
        return _inside_class(pattern, at)
    if char == "[":
        length = 2 if pattern.startswith("[^", at) else 1
        if pattern[at + length : at + length + 1] == "]":
            raise _refused(pattern, "a class that starts with `]`")
        return pattern[at : at + length], length, True
    if char == "(" and pattern.startswith("(?", at):
        return _group(pattern, at)
    if char in "*+?}" and pattern[at + 1 : at + 2] == "+":
        raise _refused(pattern, "a possessive quantifier")
    if char == ".":
        return ("." if _dot_matches_all(pattern) else _DOT), 1, False
    return (_END if char == "$" else char), 1, False


def _dot_matches_all(pattern: str) -> bool:
    return bool(re.match(r"\(\?i?s", pattern))


def _inside_class(pattern: str, at: int) -> tuple[str, int, bool]:
    char = pattern[at]
    if char == "[" or pattern.startswith("&&", at):
        raise _refused(pattern, "a class inside a class")
    return char, 1, char != "]"


def _group(pattern: str, at: int) -> tuple[str, int, bool]:
    found = _GROUP.match(pattern, at)
    if not found:
        raise _refused(pattern, f"`{pattern[at : at + 4]}`")
    opening = found[0].replace("(?<", "(?P<") if found[0].startswith("(?<") else found[0]
    return opening, len(found[0]), False


def _escape(pattern: str, at: int, in_class: bool) -> tuple[str, int]:
    code = _CODE.match(pattern, at)
    if code:
        return rf"\x{{{next(group for group in code.groups() if group)}}}", len(code[0])
    prop = _PROPERTY.match(pattern, at)
    if prop:
        return prop[0], len(prop[0])
    letter = pattern[at + 1 : at + 2]
    known = _IN_CLASS if in_class else _ESCAPES
    if letter in known:
        return known[letter], 2
    if not letter or letter.isalnum():
        raise _refused(pattern, f"`\\{letter}`")
    return re.escape(letter) if letter.isascii() else letter, 2


def _refused(pattern: str, what: str) -> CapabilityError:
    return CapabilityError(
        f"cannot match `{pattern}` without Spark: the regular expressions of other engines have no {what}",
        hint="write the pattern without it, or use engine: spark",
    )
