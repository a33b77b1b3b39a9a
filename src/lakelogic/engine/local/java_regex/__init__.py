"""Java's regular expressions for engines that have none.

A pattern is read into a tree (`parse`), judged (`judge`), and written in the words of engines with automata (`words`)
where their matching is Java's, or run row by row in Python (`rows`).
"""

from __future__ import annotations

from dataclasses import dataclass

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.local.java_regex.judge import Purpose, Way, find_way, unsure_groups
from lakelogic.engine.local.java_regex.nodes import Pattern
from lakelogic.engine.local.java_regex.parse import refused
from lakelogic.engine.local.java_regex.replacement import parse_replacement
from lakelogic.engine.local.java_regex.rows import compiled
from lakelogic.engine.local.java_regex.words import to_words

PLAIN = "[^ -~]"  # a text with no such character is printable ASCII


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern, how it is run for a purpose, and its words for an engine with automata."""

    pattern: Pattern
    way: Way
    words: str = ""

    @property
    def written(self) -> str:
        return self.pattern.written

    def check_group(self, number: int) -> None:
        """Spark fails at the first row when there is no such group."""
        if not 0 <= number <= self.pattern.groups:
            raise CapabilityError(
                f"there is no group {number} in `{self.written}`, which has {self.pattern.groups}",
                hint="0 is the whole match; without a number it is group 1",
            )
        if number in unsure_groups(self.pattern.root):
            raise refused(
                self.written, f"group {number} inside of a lookaround, an atomic group or a loop over nothing"
            )

    def replacement(self, text: str) -> tuple[str | int, ...]:
        parts = parse_replacement(text, self.pattern)
        for part in parts:
            if isinstance(part, int):
                self.check_group(part)
        return parts


def read_regex(pattern: str, purpose: Purpose) -> Regex:
    """Choose how to run a pattern; what cannot be run as Java does is refused."""
    tree = compiled(pattern).pattern
    way = find_way(tree, purpose)
    return Regex(tree, way, "" if way == "rows" else to_words(tree.root, plain=way == "plain"))
