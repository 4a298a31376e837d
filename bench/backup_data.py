"""Rows out of the database and back: the export of backups beside pg_dump and dumpdata, the load beside loaddata.

    python -m bench backup-data [--rows 1000000]

All write through the same compressor, pg_dump's own being off. Django's two get one row of each `--fewer` (20).
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.throwaway import database

LABEL = "leads.Registration"
EVENT = "INSERT INTO leads_event (id, code, name, time_zone) VALUES (gen_random_uuid(), 'bench', 'Bench', 'UTC')"
SEED = """
INSERT INTO leads_registration (id, event_id, state, active, name, email, phone, company_name, partner_id,
    sale_order_id, created_at)
SELECT gen_random_uuid(), leads_event.id, 'open', true, 'Person ' || n, md5(n::text) || '@example.org',
    '+49 30 ' || n, 'Company ' || n % 1000, '', '', now() - n * interval '1 second'
FROM generate_series(1, {rows}) AS n, leads_event
"""


def main(arguments: list[str]) -> int:
    """Seed, measure each, print rows per second."""
    parser = argparse.ArgumentParser(prog="python -m bench backup-data")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--fewer", type=int, default=20)
    chosen = parser.parse_args(arguments)
    fewer = max(1, chosen.rows // chosen.fewer)
    with database("backup_data"), tempfile.TemporaryDirectory() as directory:
        kept = Path(directory)
        _seed(chosen.rows)
        before = _peak()
        export = _rate("export", chosen.rows, lambda: _export(kept / "rows.zst"))
        print(f"{'':12} {_peak() - before:,.0f} MB more memory at the peak")
        dump = _rate("pg_dump", chosen.rows, _pg_dump)
        load = _rate("load", chosen.rows, lambda: _load(kept / "rows.zst"))
        print(f"{'':12} {_peak() - before:,.0f} MB more memory at the peak")
        _seed(fewer)
        dumpdata = _rate("dumpdata", fewer, lambda: _dumpdata(kept / "rows.jsonl"))
        _empty()
        loaddata = _rate("loaddata", fewer, lambda: _loaddata(kept / "rows.jsonl"))
    print(f"export: {export / dump:.2f} of pg_dump, {export / dumpdata:.1f} times dumpdata")
    print(f"load: {load / loaddata:.1f} times loaddata")
    return 0


def _rate(name: str, rows: int, run: Callable[[], None]) -> float:
    started = time.perf_counter()
    run()
    seconds = time.perf_counter() - started
    print(f"{name:12} {rows / seconds:>10,.0f} rows/s  ({rows:,} in {seconds:.1f} s)")
    return rows / seconds


def _peak() -> float:
    """Megabytes (of Linux's kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _seed(rows: int) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE leads_event CASCADE")
        cursor.execute(EVENT)
        cursor.execute(SEED.format(rows=rows))
        cursor.execute("VACUUM (ANALYZE) leads_registration")


def _empty() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE leads_registration CASCADE")


def _table() -> Any:
    from backups.data.spec import discover
    from backups.data.tables import tables

    return next(each for each in tables(discover()) if each.label == LABEL)


def _export(to: Path) -> None:
    from backups.data.export import Export
    from backups.data.snapshot import snapshot

    table = _table()
    with snapshot([table]) as taken:
        _compress(Export(taken, table), to)


def _pg_dump() -> None:
    from django.db import connection

    from config.embedded import binaries

    given = connection.get_connection_params()
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password"}
    where = {name: str(given[key]) for name, key in names.items() if given.get(key)}
    command = [str(binaries.find() / "pg_dump"), "-Fc", "-Z0", "-t", "leads_registration"]
    with subprocess.Popen(
        [*command, given["dbname"]], env=os.environ | where, stdout=subprocess.PIPE
    ) as dump:
        assert dump.stdout is not None
        _compress(iter(lambda: dump.stdout.read(64 * 1024), b""), Path(os.devnull))
    if dump.returncode:
        sys.exit("pg_dump failed.")


def _load(of: Path) -> None:
    from django.db import connection, transaction

    from backups.archive.packing import unpacked
    from backups.data.lines import lines
    from backups.data.load import load

    _empty()
    with transaction.atomic():
        load(connection, [(_table(), lines(unpacked(_pieces(of))))])


def _dumpdata(to: Path) -> None:
    from django.core.management import call_command

    call_command("dumpdata", LABEL, format="jsonl", output=str(to), verbosity=0)
    _compress(_pieces(to), Path(os.devnull))


def _loaddata(of: Path) -> None:
    from django.core.management import call_command

    call_command("loaddata", str(of), verbosity=0)


def _compress(pieces: Iterable[bytes], to: Path) -> None:
    from backups.archive.packing import packed

    with to.open("wb") as out:
        for piece in packed(pieces):
            out.write(piece)


def _pieces(of: Path) -> Iterator[bytes]:
    with of.open("rb") as stream:
        while piece := stream.read(64 * 1024):
            yield piece
