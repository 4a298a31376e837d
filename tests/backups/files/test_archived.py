"""Files that rows name are in archives, each content once, and what could not be taken is told."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from backups.archive.verify import verify
from backups.conf import conf
from backups.data.spec import Declared, SpecRefused, Specs
from backups.data.tables import tables
from backups.files import take as taking
from backups.files.listed import Listed, listed_in
from backups.metrics import FILES_MISSING
from backups.models import BackupRun, BackupTarget
from backups.running.fenced import Fenced
from backups.services import request_run
from backups.targets.opening import open_store
from backups.verification import request_verification
from tests.backups.files.conftest import hang, made, opened, performed, rows, scanned, stored, tree
from tests.support.damage import flip

pytestmark = pytest.mark.django_db(transaction=True)
SUN, MOON = b"the sun", bytes(300_000)
FILE, SCAN = "gallery.Picture.file", "gallery.Picture.scan"


def listed(run: BackupRun) -> dict[tuple[str, str], Listed]:
    with opened(run) as chain:
        return {(each.column, each.name): each for each in listed_in(chain[-1])}


def contents(run: BackupRun) -> dict[tuple[str, str], bytes]:
    """What an archive has itself of the files that it lists."""
    with opened(run) as chain:
        return {
            (each.column, each.name): b"".join(chain[-1].media(each.sha256))
            for each in listed_in(chain[-1])
            if each.sha256 and chain[-1].holds(each.sha256)
        }


def lying(run: BackupRun) -> list[str]:
    with open_store(run.target) as store:
        names = [each.name for each in store.list(f"{run.archive}/media/")]
    return [name.rpartition("/")[2] for name in names]


def test_what_rows_name_is_there_once_per_content_and_nothing_else(
    cellar: BackupTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored("sun.png", SUN)
    stored("a/same as sun %.png", SUN)
    stored("nobody names it", b"x")
    scanned("moon.png", MOON)
    hang(
        file="sun.png",
        scan="moon.png",
        preview=stored("preview.png", b"made again"),
        signed=stored("signed.png", b"a secret"),
    )
    hang(file="a/same as sun %.png")
    hang(file="sun.png")
    rows("Album").update(cover="sun.png")
    content, reads = taking.content, list[str]()

    def counted(storage: Any, name: str, column: str) -> Iterator[bytes]:
        reads.append(name)
        return content(storage, name, column)

    monkeypatch.setattr(taking, "content", counted)
    run = made(cellar)
    # For the digest, and the first of each content to be sent.
    assert reads == [*["a/same as sun %.png"] * 2, *["moon.png"] * 2, "sun.png"]
    assert (run.media, run.media_missing) == (2, 0)
    assert contents(run) == {
        (FILE, "sun.png"): SUN,
        (FILE, "a/same as sun %.png"): SUN,
        (SCAN, "moon.png"): MOON,
        ("gallery.Album.the cover", "sun.png"): SUN,
    }
    with opened(run) as (archive,):
        assert archive.manifest.media.bytes == len(SUN) + len(MOON)
    raw = b"".join(tree(tmp_path / "cellar").values())
    assert b"the sun" not in raw
    assert b"sun.png" not in raw


def test_a_tenants_archive_has_the_files_that_its_rows_name(cellar: BackupTarget) -> None:
    hang("acme", file=stored("sun.png", SUN))
    hang("other", file=stored("moon.png", MOON))
    assert contents(made(cellar, tenant="acme")) == {(FILE, "sun.png"): SUN}


def test_what_is_not_there_is_told_and_the_rest_is_in_the_archive(
    cellar: BackupTarget, media: Path, client: Client
) -> None:
    hang(file=stored("there/sun.png", SUN))
    (media.parent / "passwd").write_text("secret")
    (media / "there" / "a\\b").write_text("it could not come back under its name")
    away = ["gone.png", "there/a\\b", "../passwd", str(media / "there/sun.png"), "there", "x" * 299]
    for name in away:
        hang(file=name)
    counted = FILES_MISSING._value.get()
    run = made(cellar)
    assert (run.media, run.media_missing) == (1, len(away))
    assert FILES_MISSING._value.get() == counted + len(away)
    found = listed(run)
    assert {name for (_, name), each in found.items() if each.why == "missing"} == {*away}
    assert contents(run) == {(FILE, "there/sun.png"): SUN}

    client.force_login(User.objects.create_superuser("boss"))
    page = client.get(reverse("admin:backups_backuprun_change", args=[run.pk])).content.decode()
    assert "Of 6 names of files in its rows no file was there to be taken" in page
    where = [run.archive, "--target", "Cellar"]
    out = StringIO()
    call_command("backups", "inspect", *where, stdout=out)
    assert "files       7 named by rows, 6 not there to be taken" in out.getvalue()


def test_a_file_that_changes_while_it_is_read_is_read_again_and_one_that_always_does_is_told(
    cellar: BackupTarget, media: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hang(file=stored("once.png", b"old"))
    hang(file=stored("always.png", b"0"))
    content, reads = taking.content, list[str]()

    def changing(storage: Any, name: str, column: str) -> Iterator[bytes]:
        yield from content(storage, name, column)
        reads.append(name)
        if name == "always.png" or reads.count(name) == 1:
            (media / name).write_bytes(b"%d" % len(reads))

    monkeypatch.setattr(taking, "content", changing)
    run = made(cellar)
    assert (run.media, run.media_missing) == (1, 1)
    found = listed(run)
    assert found[FILE, "always.png"].why == "changing"
    assert contents(run) == {(FILE, "once.png"): (media / "once.png").read_bytes()}
    assert reads.count("once.png") == 4


def test_a_storage_that_fails_is_tried_again_and_makes_no_archive_without_files(
    cellar: BackupTarget, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hang(file=stored("sun.png", SUN))

    def failing(self: Any, name: str, mode: str) -> Any:
        raise PermissionError(f"{name} is not for you")

    with monkeypatch.context() as patch:
        patch.setattr("django.core.files.storage.FileSystemStorage._open", failing)
        run = performed(request_run(cellar, trigger="manual"))
    assert (run.state, run.code) == ("RUNNING", "backups.file_unreadable")
    assert "sun.png" not in caplog.text
    run = performed(run, hours=1)
    assert (run.state, run.media) == ("SUCCEEDED", 1)


@pytest.mark.parametrize("pooled", [False, True])
def test_no_snapshot_is_held_while_files_are_read_but_through_a_pooler(
    cellar: BackupTarget, monkeypatch: pytest.MonkeyPatch, pooled: bool
) -> None:
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", pooled)
    for number in range(3):
        hang(file=stored(f"{number}.png", b"%d" % number))
    content, held = taking.content, list[int]()

    def watched(storage: Any, name: str, column: str) -> Iterator[bytes]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL"
            )
            held.append(cursor.fetchone()[0])
        yield from content(storage, name, column)

    monkeypatch.setattr(taking, "content", watched)
    monkeypatch.setattr("backups.files.names.AT_ONCE", 1)
    assert made(cellar).media == 3
    assert held == [int(pooled)] * 6


def test_lists_are_of_so_many_names_each(
    cellar: BackupTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "A_LIST", 2)
    for number in range(5):
        hang(file=stored(f"{number}.png", b"%d" % number))
    run = made(cellar)
    assert len(listed(run)) == 5
    assert [name for name in lying(run) if name.startswith("files")] == [
        f"files-00000{number}.jsonl.zst" for number in (1, 2, 3)
    ]


def test_an_incremental_archive_stores_what_no_archive_before_it_has(
    cellar: BackupTarget, media: Path
) -> None:
    hang(file=stored("sun.png", SUN))
    gone = hang(file=stored("gone.png", b"gone"))
    full = made(cellar)
    hang(file=stored("same as sun.png", SUN))
    hang(file=stored("moon.png", MOON))
    gone.delete()
    first = made(cellar, "incremental")
    (media / "sun.png").write_bytes(b"another sun")  # and no row was changed
    second = made(cellar, "incremental")
    assert [run.media for run in (full, first, second)] == [2, 1, 1]
    assert contents(first) == {(FILE, "moon.png"): MOON}
    assert contents(second) == {(FILE, "sun.png"): b"another sun"}
    names = {(FILE, name) for name in ("sun.png", "same as sun.png", "moon.png")}
    assert listed(first).keys() == listed(second).keys() == names
    (media / "sun.png").write_bytes(SUN)
    assert made(cellar, "incremental").media == 0  # the oldest has it


def test_an_attempt_that_takes_over_keeps_whole_contents_and_sends_damaged_ones_again(
    cellar: BackupTarget, media: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c", "d"):
        hang(file=stored(name, name.encode() * 1000))
    put, sent = Fenced.put, list[str]()

    def counted(store: Fenced, name: str, pieces: Any) -> int:
        if "/media/" in name:
            sent.append(name)
            if len(sent) == 4:
                raise ConnectionError("as if the process had died here")
        return put(store, name, pieces)

    monkeypatch.setattr(Fenced, "put", counted)
    run = performed(request_run(cellar, trigger="manual"))
    assert run.state == "RUNNING"
    path = tmp_path / "cellar" / sent[0]
    path.write_bytes(path.read_bytes()[:-1])
    rows("Picture").filter(file="b").delete()
    first, sent[:] = sent[:], ["", "", "", ""]
    assert performed(run, hours=1).state == "SUCCEEDED"
    assert {*sent[4:]} == {first[0], first[3], f"{run.archive}/media/files-000001.jsonl.zst"}
    assert contents(run) == {(FILE, name): name.encode() * 1000 for name in ("a", "c", "d")}
    assert first[1].rpartition("/")[2] not in lying(run)  # nobody names it now


@pytest.mark.parametrize("damage", ["a bit", "missing", "exchanged", "of the list"])
def test_verification_finds_a_damaged_content(
    cellar: BackupTarget, tmp_path: Path, damage: str
) -> None:
    hang(file=stored("sun.png", SUN))
    hang(file=stored("moon.png", SUN[::-1]))
    run = made(cellar)
    lists, first, second = sorted(
        (
            each
            for each in (tmp_path / "cellar" / run.archive / "media").rglob("*")
            if each.is_file()
        ),
        key=lambda path: len(path.name),
    )
    sound = first.read_bytes()
    match damage:
        case "a bit":
            flip(first)
        case "missing":
            first.unlink()
        case "exchanged":
            first.write_bytes(second.read_bytes())
            second.write_bytes(sound)
        case _:
            lists.write_bytes(lists.read_bytes()[:-1])
    request_verification(run)
    performed(run)
    code = "backups.member_missing" if damage == "missing" else "backups.member_damaged"
    assert run.findings == [code]
    with open_store(cellar) as store:
        found = verify(store, run.archive, conf().keys).findings
    damaged = {"exchanged": [first, second], "of the list": [lists]}.get(damage, [first])
    assert {each.member.rpartition("/")[2] for each in found} == {each.name for each in damaged}


def test_files_left_out_of_a_column_that_has_none_are_refused(cellar: BackupTarget) -> None:
    declared = Declared(model="gallery.Album", files_left_out={"tenant_id": "why"})
    with pytest.raises(SpecRefused, match="gallery.Album has no column tenant_id of files"):
        tables(Specs({"gallery.Album": declared}, {}))


def test_the_command_tells_which_files_an_archive_has_and_lacks(cellar: BackupTarget) -> None:
    hang(file=stored("sun.png", SUN))
    hang(file="gone.png")
    hang(file="red\x1b[31m\nline")  # which a terminal would obey
    run = made(cellar)
    where = [run.archive, "--target", "Cellar"]
    out = StringIO()
    call_command("backups", "files", *where, stdout=out)
    assert out.getvalue().splitlines() == [
        f"1  missing   0 bytes  {FILE}  gone.png",
        rf"2  missing   0 bytes  {FILE}  red\x1b[31m\nline",
        f"3  there     7 bytes  {FILE}  sun.png",
    ]
    out = StringIO()
    call_command("backups", "files", *where, "--missing", "--json", stdout=out)
    assert [(each["number"], each["name"]) for each in json.loads(out.getvalue())] == [
        (1, "gone.png"),
        (2, "red\x1b[31m\nline"),
    ]
