"""Memory does not grow with the rows."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from backups.data.export import BLOCK, Export
from backups.data.snapshot import snapshot
from tests.backups.data.databases import Pair


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(pair: Pair) -> None:
    pair.execute(
        "INSERT INTO everything_everything (text, big, jsonb)"
        " SELECT repeat(md5(n::text), 8), n, jsonb_build_object('n', n)"
        " FROM generate_series(1, 200000) AS n"
    )
    table = pair.table("Everything")
    grown: list[int] = []

    def watched(exported: Export) -> Iterator[bytes]:
        begun = resident()
        for block in exported:
            grown.append(resident() - begun)
            yield block

    with snapshot([table], "source") as taken:
        exported = Export(taken, table)
        assert pair.load([(table, watched(exported))]) == {table.label: 200_000}
    assert exported.records == 200_000
    assert len(grown) * BLOCK > 100_000_000
    assert max(grown) < 8_000_000, "bytes more than at the first block"


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
