"""Memory does not grow with the rows."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from backups.data.export import Export
from backups.data.pages import pages_query
from backups.data.snapshot import snapshot
from tests.backups.data.databases import Pair


@pytest.mark.slow
@pytest.mark.parametrize("row_by_row", [False, True])
def test_memory_does_not_grow_with_the_rows(pair: Pair, *, row_by_row: bool) -> None:
    pair.execute(
        "INSERT INTO everything_everything (text, big, jsonb)"
        " SELECT repeat(md5(n::text), 8), n, jsonb_build_object('n', n)"
        " FROM generate_series(1, 200000) AS n"
    )
    if row_by_row:
        pair.execute(
            "UPDATE everything_everything SET blob ="
            " (SELECT string_agg(sha512(n::text::bytea), '') FROM generate_series(1, 200) AS n)"
            " WHERE big = 1"
        )
    table = pair.table("Everything")
    sent = 0
    grown: list[int] = []

    def watched(exported: Export) -> Iterator[bytes]:
        nonlocal sent
        begun = resident()
        for block in exported:
            grown.append(resident() - begun)
            sent += len(block)
            yield block

    with snapshot([table], "source") as taken:
        assert (pages_query(taken.connection, table) is None) is row_by_row
        exported = Export(taken, table)
        assert pair.load([(table, watched(exported))]) == {table.label: 200_000}
    assert sent > 100_000_000
    assert max(grown) < 8_000_000, "bytes more than at the first block"


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
