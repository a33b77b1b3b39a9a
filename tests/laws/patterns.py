"""Regular expressions of Java by chance, and texts that are read differently by other engines."""

from __future__ import annotations

from random import Random

SUBJECTS = (
    "", "a", "abc", "ABC", "a\n", "a\r\n", "b\r", "a\u0085", "a\u2028", "\r\n", "a\nb\n\n", "a\u0000b", "\U0001f600",
    "a\U0001f600b", "\U0001d4b3", "\u00e9", "e\u0301 x", "\u00dfSS", "\u0130", "\u212ak", "\u0663 3", "foo bar_baz",
    "aab", "abab", "a.b", "$", "\\", "[x]", "\t \u000b", "\u00a0", "1,2,,3", "a b  c", "x\u0300\u0301y", "zz9-A1",
)  # fmt: skip
_ATOMS = (
    "a", "b", "B", "1", " ", "\u00e9", "\u212a", "k", "\U0001f600", "\\.", ".", "\\d", "\\D", "\\w", "\\W", "\\s",
    "\\S", "\\h", "\\v", "\\R", "\\p{L}", "\\P{L}", "\\p{Lu}", "\\p{Alpha}", "\\p{Punct}", "\\p{M}", "[abc]", "[^abc]",
    "[a-z]",
    "[^\\w]", "[\\d.]", "[a-z&&[^b]]", "[a[b-c]]", "[^\\p{L}]", "[]a]", "[a-]", "[\\x{1F600}-\\x{1F64F}]", "[^\\n]",
    "[^\\x00-\\x7F]", "\\Qa.b\\E", "\\t", "\\x41", "\\u00e9", "\\0101", "-", ",", "_",
)  # fmt: skip
_TIMES = ("", "", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?", "??", "*+", "++")
_GROUPS = ("(%s)", "(%s)", "(?:%s)", "(?<n>%s)", "(?i:%s)", "(?s:%s)", "(?=%s)", "(?!%s)", "(?>%s)", "(?<=%s)")
_PLACES = ("^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z")
_FLAGS = ("(?i)", "(?s)", "(?m)", "(?is)")


def make_pattern(random: Random) -> str:
    pattern = _choice(random, 2)
    pattern = random.choice(_FLAGS) + pattern if random.random() < 0.15 else pattern
    pattern = f"^{pattern}" if random.random() < 0.2 else pattern
    return f"{pattern}$" if random.random() < 0.2 else pattern


def _choice(random: Random, depth: int) -> str:
    return "|".join(_sequence(random, depth) for _ in range(random.choice((1, 1, 1, 2, 3))))


def _sequence(random: Random, depth: int) -> str:
    return "".join(_part(random, depth) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))


def _part(random: Random, depth: int) -> str:
    chance = random.random()
    if chance < 0.1:
        return random.choice(_PLACES)
    if depth > 0 and chance < 0.35:
        group = random.choice(_GROUPS)
        times = "" if group.startswith(("(?=", "(?!", "(?<=")) else random.choice(_TIMES)
        return group % _choice(random, depth - 1) + times
    return random.choice(_ATOMS) + random.choice(_TIMES)
