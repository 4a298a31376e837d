"""The backups' side of their cases: `python -m bench.backup_agent OPERATION JSON`, one operation a process.

The last line of its output is the answer. It runs the whole project on the database of `BENCH_DSN`.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from bench.ready import READY, await_signal

os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
os.environ["DATABASE_URL"] = os.environ["BENCH_DSN"]

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - Django is set up by now
from django.db import connection  # noqa: E402

from backups.archive.manifest import About, Period, Product, Snapshot  # noqa: E402
from backups.archive.names import Mode  # noqa: E402
from backups.archive.packing import packed  # noqa: E402
from backups.archive.write import ArchiveWriter  # noqa: E402
from backups.data.export import Export  # noqa: E402
from backups.data.snapshot import snapshot  # noqa: E402
from backups.data.spec import discover  # noqa: E402
from backups.data.tables import tables  # noqa: E402
from backups.keys import KeyRing, MasterKey  # noqa: E402
from backups.restore.precheck import checked  # noqa: E402
from backups.restore.whole import restore  # noqa: E402
from backups.scopes import WHOLE  # noqa: E402
from backups.targets.local import LocalTarget  # noqa: E402
from config.embedded import binaries  # noqa: E402
from hubqueue.ids import uuid7  # noqa: E402

KEY = MasterKey("bench", bytes(range(32)))
PATH = "kept"
LABEL = "leads.Registration"
TABLE = "leads_registration"
EVENT = "INSERT INTO leads_event (id, code, name, time_zone) VALUES (gen_random_uuid(), 'bench', 'Bench', 'UTC')"
SEED = f"""
INSERT INTO {TABLE} (id, event_id, state, active, name, email, phone, company_name, partner_id,
    sale_order_id, created_at)
SELECT gen_random_uuid(), leads_event.id, 'open', true, 'Person ' || n, md5(n::text) || '@example.org',
    '+49 30 ' || n, 'Company ' || n % 1000, '', '', now() - n * interval '1 second'
FROM generate_series(1, {{rows}}) AS n, leads_event
"""


def setup(rows: int) -> None:
    """Tables, and so many registrations of one event."""
    call_command("migrate", verbosity=0)
    _seed(rows)


def archive(volume: str) -> dict[str, Any]:
    """Write everything into an encrypted archive in a directory: its rate, and this process's peak in megabytes."""
    return _timed(lambda: _archive(volume))


def others(rows: int, fewer: int, file: str) -> dict[str, float]:
    """Rows a second of pg_dump, and of dumpdata over fewer rows; both through the compressor of archives."""
    dump = rows / _seconds(_pg_dump)
    _seed(fewer)
    return {"pg_dump": dump, "dumpdata": fewer / _seconds(lambda: _dumpdata(Path(file)))}


def bring_back(volume: str, name: str) -> dict[str, Any]:
    """What `manage.py backups restore` does, into the emptied tables: its checks, then the rows."""
    _execute("TRUNCATE leads_event CASCADE")
    return _timed(lambda: _bring_back(volume, name))


def loaddata(fewer: int, file: str) -> float:
    """Rows a second of loaddata."""
    _seed(fewer)
    _dumpdata(Path(file))
    _execute(f"TRUNCATE {TABLE} CASCADE")
    return fewer / _seconds(lambda: call_command("loaddata", file, verbosity=0))


def hold() -> None:
    """Hold the snapshot of a backup until this process is ended."""
    with snapshot(tables(discover())):
        await_signal()


def write(volume: str) -> None:
    """Write one archive after the other until this process is ended."""
    print(READY, flush=True)
    while True:
        _archive(volume)


def _archive(volume: str) -> dict[str, Any]:
    chosen = tables(discover())
    with LocalTarget(volume, PATH) as store, snapshot(chosen) as taken:
        about = About(
            archive=uuid7(),
            product=Product(name="bench", version="0"),
            schema=taken.migrations,
            scope=WHOLE,
            mode=Mode.FULL,
            started=taken.taken_at,
            snapshot=Snapshot(at=taken.taken_at, transactions=taken.transactions),
            period=Period(since=None, until=taken.taken_at),
        )
        writer = ArchiveWriter(store, about, KEY)
        for table in chosen:
            writer.add_rows(table.label, Export(taken, table))
        manifest = writer.finish()
    return {"name": str(manifest.name), "rows": manifest.counts[LABEL]}


def _bring_back(volume: str, name: str) -> dict[str, Any]:
    chosen = tables(discover())
    with LocalTarget(volume, PATH) as store:
        found = checked(store, name, KeyRing((KEY,)), connection, chosen, encrypted=True)
        return {"rows": restore(found, connection, chosen)[LABEL]}


def _pg_dump() -> None:
    given = connection.get_connection_params()
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGPASSWORD": "password"}
    where = {name: str(given[key]) for name, key in names.items() if given.get(key)}
    command = [str(binaries.find() / "pg_dump"), "-Fc", "-Z0", "-t", TABLE, given["dbname"]]
    with subprocess.Popen(command, env=os.environ | where, stdout=subprocess.PIPE) as dump:
        assert dump.stdout is not None
        _compress(_blocks(dump.stdout))
    if dump.returncode:
        sys.exit("pg_dump failed.")


def _dumpdata(to: Path) -> None:
    call_command("dumpdata", LABEL, format="jsonl", output=str(to), verbosity=0)
    with to.open("rb") as stream:
        _compress(_blocks(stream))


def _compress(pieces: Iterable[bytes]) -> None:
    for _ in packed(pieces):
        pass


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: stream.read(64 * 1024), b"")


def _seed(rows: int) -> None:
    _execute("TRUNCATE leads_event CASCADE")
    _execute(EVENT)
    _execute(SEED.format(rows=rows))
    _execute(f"VACUUM (ANALYZE) {TABLE}")


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _timed(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    began = time.perf_counter()
    answer = run()
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000  # Linux counts kilobytes
    return {**answer, "rate": answer["rows"] / seconds, "mb": peak}


def _seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def main() -> None:
    operation, given = sys.argv[1:3]
    answer = globals()[operation](**json.loads(given))
    connection.close()
    print(f"\n{json.dumps(answer)}", flush=True)


if __name__ == "__main__":
    main()
