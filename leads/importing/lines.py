"""Bytes to lines, and lines to records. Nothing here believes in the file being well formed."""

import codecs
import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LINE_LIMIT = 1024 * 1024
RECORD_LINES = 200


@dataclass(frozen=True, slots=True)
class Record:
    """One record: the physical line it starts on (from 1), its cells, or what is wrong with it.

    ``position`` counts the bytes read so far, to tell how far a file is.
    """

    line: int
    cells: list[str]
    problem: str | None
    position: int


def encoding_of(start: bytes) -> str:
    """The encoding that the first bytes speak for: UTF-8 unless a mark says UTF-16."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if start.startswith(codecs.BOM_UTF8) else "utf-8"


def lines(blocks: Iterable[bytes]) -> Iterator[tuple[str, int]]:
    """The physical lines of a file, without their ends, and the bytes read up to each.

    Bytes that are not UTF-8 come as lone surrogates, in their line only. A line beyond ``LINE_LIMIT``
    bytes is cut there (the record it belongs to is refused for its length).
    """
    rest = b""
    position = 0
    separator: bytes | None = None
    for block in _as_utf8(blocks):
        rest += block
        if separator is None:
            separator = b"\r" if b"\r" in rest[:-1] and b"\n" not in rest else b"\n"
        *whole, rest = rest.split(separator)
        if len(rest) > LINE_LIMIT + 1:
            position += len(rest) - LINE_LIMIT - 1
            rest = rest[: LINE_LIMIT + 1]
        for line in whole:
            position += len(line) + 1
            yield _text(line), position
    if rest:
        yield _text(rest), position + len(rest)


def records(of: Iterable[tuple[str, int]], delimiter: str) -> Iterator[Record]:
    """The records of a file. A quote that is never closed costs its own line, not the rest of the file."""
    waiting: list[tuple[str, int]] = []
    source = iter(of)
    number = 0
    while True:
        line, position = waiting.pop(0) if waiting else next(source, (None, 0))
        if line is None:
            return
        number += 1
        cells, problem = _cells([line], delimiter)
        taken = [line]
        if problem == "open":
            ahead: list[tuple[str, int]] = []
            while problem == "open" and len(taken) < RECORD_LINES:
                more = waiting.pop(0) if waiting else next(source, None)
                if more is None:
                    break
                ahead.append(more)
                taken.append(more[0])
                if '"' in more[0]:
                    cells, problem = _cells(taken, delimiter)
            if problem is None:
                yield Record(number, cells, None, ahead[-1][1])
                number += len(ahead)
                continue
            waiting = ahead + waiting
            problem = "has a quotation mark that is opened and not closed"
        yield Record(number, cells, problem, position)


def _cells(taken: list[str], delimiter: str) -> tuple[list[str], str | None]:
    """The cells, and what is wrong: "open" when a quoted cell goes on after the last line."""
    if sum(map(len, taken)) > LINE_LIMIT:
        return [], "is longer than a record may be"
    ended = [f"{line}\n" for line in taken[:-1]] + taken[-1:]
    try:
        rows = list(csv.reader(ended, delimiter=delimiter, strict=True))
    except csv.Error as raised:
        said = str(raised)
        if "unexpected end of data" in said:
            return [], "open"
        if "field larger" in said:
            return [], "has a cell that is longer than a cell may be"
        return [], "has quotation marks that do not fit"
    if len(rows) > 1:
        return [], "has a line end outside quotation marks"
    return (rows[0] if rows else []), None


def _as_utf8(blocks: Iterable[bytes]) -> Iterator[bytes]:
    source = iter(blocks)
    first = next(source, b"")
    encoding = encoding_of(first)
    if encoding == "utf-16":
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        yield decoder.decode(first).encode("utf-8", "surrogatepass")
        for block in source:
            yield decoder.decode(block).encode("utf-8", "surrogatepass")
        return
    yield first.removeprefix(codecs.BOM_UTF8)
    yield from source


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r")[: LINE_LIMIT + 1].decode("utf-8", "surrogateescape")
