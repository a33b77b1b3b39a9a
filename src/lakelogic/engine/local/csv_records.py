"""CSV records that may span lines, as Spark's own CSV source finds them.

The first end of a line says how lines end; such ends within quotes become LF. A file in which a quote is out of place,
or LF ends a line that should end with CR, is refused: Spark's parser goes on as it likes, and nobody meant that.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from lakelogic.core.errors import CapabilityError
from lakelogic.engine.local.csv_lines import CsvSplitter
from lakelogic.engine.local.cuts import Cut, cut_records
from lakelogic.engine.local.lines import Line, read_chunks
from lakelogic.engine.local.options import CsvOptions

# What a field without quotes may be made of, by the end of the first line: other ends of lines are no part of it.
_CR_ALONE = r"(?:[^{sep}\r\n]|\r(?!\n|\Z))"
_LETTERS = {"\n": _CR_ALONE, "\r\n": _CR_ALONE, "\r": r"[^{sep}\r\n]"}
_LOOKED_AT = 1 << 20  # the parser looks no further for the first end of a line
_MOST_LETTERS = 64 << 20  # of a record: a quote that does not close must not take all memory
_MISPLACED = "has a quote out of place, or one that does not close, or lines that end in two ways"
_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")


@dataclass(frozen=True)
class RecordFile:
    """One file with the number of its fields, and the places of those to give."""

    path: str
    options: CsvOptions
    width: int
    places: tuple[int | None, ...]

    def blocks(self) -> Iterator[Cut]:
        """Its rows in their order; a record stands beside them only where it has no fields."""
        texts = self._texts()
        head = next(texts)
        ended = re.search(r"\r\n|\r|\n", head[:_LOOKED_AT])
        end = ended[0] if ended else "\n"
        records = self._records(head, texts, self._pattern(end))
        if self.options.header:
            next(records, None)
        return cut_records(map(Line, records), lambda text: self._split(text.replace(end, "\n")), len(self.places))

    def _texts(self) -> Iterator[str]:
        """The letters of the file: first enough to see how lines end, and an empty text at last."""
        decoder = getincrementaldecoder(self.options.encoding)()
        head = ""
        try:
            for number, chunk in enumerate(read_chunks(self.path)):
                head += decoder.decode(chunk if number else self._unmarked(chunk))
                if len(head) > _LOOKED_AT:
                    yield head
                    head = ""
            yield head + decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise self._refused("is not UTF-8") from None
        yield ""

    def _unmarked(self, chunk: bytes) -> bytes:
        """The first bytes without the mark of UTF-8; other marks speak of another encoding than the contract does."""
        if self.options.encoding != "UTF-8" and chunk.startswith(_MARKS):
            raise self._refused("begins with a byte order mark")
        return chunk.removeprefix(_MARKS[0])

    def _records(self, text: str, more: Iterator[str], pattern: re.Pattern[str]) -> Iterator[str]:
        """All records; what is left over of one text is the beginning of the next."""
        for following in more:
            at = yield from self._whole(pattern, text, final=not following)
            text = text[at:] + following
            if len(text) - len(following) > _MOST_LETTERS:
                raise self._refused(_MISPLACED)

    def _whole(self, pattern: re.Pattern[str], text: str, *, final: bool) -> Generator[str, None, int]:
        """The records of a text, but for a last one that may go on; gives where that begins."""
        at = 0
        while at < len(text):
            found = pattern.match(text, at)
            # A CR at the very end may be the first half of a line's end.
            if not final and (found is None or found.end() >= len(text) - 1):
                break
            if found is None:
                raise self._refused(_MISPLACED)
            if found[1]:
                yield found[1]
            at = found.end()
        return at

    def _pattern(self, end: str) -> re.Pattern[str]:
        """A record and its end; of a field with quotes the text behind it must be the next separator or that end."""
        style, letter = self.options, _LETTERS[end]
        sep = re.escape(style.sep)
        field = f"(?:{style.quoted_field}|(?!{re.escape(style.quote)}){letter.format(sep=sep)}*+)"
        return re.compile(rf"({field}(?:{sep}{field})*+)(?:{end}|\Z)")

    def _split(self, record: str) -> Sequence[str | None] | str:
        fields = self._splitter.split_record(record)
        if isinstance(fields, str):
            return fields
        return [None if place is None else fields[place] for place in self.places]

    @cached_property
    def _splitter(self) -> CsvSplitter:
        return CsvSplitter(self.options, self.width)

    def _refused(self, what: str) -> CapabilityError:
        return CapabilityError(
            f"`{self.path}` {what}: its records cannot be read across lines without Spark",
            hint="mend the file, leave out the option multiLine, or use engine: spark",
        )
