"""Equal or not is told by sums over the rows, and lines are whole."""

from itertools import product

import pytest

from backups.data import checksum
from backups.data.lines import lines
from tests.backups.data.databases import Pair
from tests.backups.data.values import checksums, fill


def test_a_checksum_is_of_the_rows_not_of_their_order(pair: Pair) -> None:
    pair.execute("INSERT INTO everything_left (id, amount) VALUES (1, 1), (2, 2)")
    pair.execute("INSERT INTO everything_left (id, amount) VALUES (2, 2), (1, 1)", of="copy")
    assert checksums(pair, "source") == checksums(pair, "copy")
    pair.execute("UPDATE everything_left SET amount = 3 - amount", of="copy")
    assert checksums(pair, "source") != checksums(pair, "copy")


def test_a_checksum_of_lines_is_that_of_their_rows(pair: Pair) -> None:
    fill(pair)
    (_, blocks), *_ = pair.export([pair.table("Everything")])
    whole = b"".join(blocks)
    cut = [whole[at : at + 999_983] for at in range(0, len(whole), 999_983)]
    table = checksums(pair, "source")["everything.Everything"]
    assert checksum.of_lines(lines(cut)) == checksum.of_lines(lines(blocks)) == table


@pytest.mark.parametrize(
    ("text", "size"), list(product([b"a\nb\n\nc", b"", b"\n", b"a"], [1, 2, 9]))
)
def test_lines_are_whole_however_blocks_are_cut(text: bytes, size: int) -> None:
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    expected = text.split(b"\n")
    assert list(lines(cut)) == (expected if expected[-1] else expected[:-1])
