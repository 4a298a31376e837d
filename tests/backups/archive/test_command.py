"""What the command says and how it ends, with a directory, with a target, and with nothing else."""

import json
import os
import subprocess
import sys
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from backups.archive.told import PLAIN
from backups.errors import ObjectMissing, TargetRefused
from backups.keys import KeyRing, MasterKey
from backups.models import BackupTarget
from backups.targets.directory import ReadOnlyDirectory
from hubqueue.querysets import database_now
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, ROWS, write
from tests.conftest import CHECKOUT


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def said(*arguments: str, err: StringIO | None = None) -> str:
    """What it prints. Raises ``CommandError``, with what was printed in ``printed``."""
    out = StringIO()
    try:
        call_command("backups", *arguments, stdout=out, stderr=err or StringIO())
    except CommandError as refused:
        refused.printed = out.getvalue()  # type: ignore[attr-defined]
        raise
    return out.getvalue()


@pytest.fixture
def name(store: Directory) -> str:
    return str(write(store).name)


@pytest.fixture(autouse=True)
def keys(settings: Any) -> None:
    settings.BACKUPS_KEYS = KEY.text


def test_keygen_makes_a_key_that_the_setting_takes() -> None:
    one, other = said("keygen").strip(), said("keygen").strip()
    assert one != other
    assert len(KeyRing.parse(f"{one},{other}").keys) == 2
    told = json.loads(said("keygen", "--json"))
    assert KeyRing.parse(told["key"]).writing.id == told["id"]


def test_list_tells_what_is_there(store: Directory, name: str) -> None:
    store.put("other/file", [b"x"])
    where = ["--directory", str(store.root)]
    complete, foreign = said("list", *where).splitlines()
    assert complete.startswith(f"complete    {name}  7 objects, ")
    assert foreign == "foreign     other  1 objects, 1 byte"
    told = json.loads(said("list", *where, "--json"))
    assert [each["state"] for each in told] == ["complete", "foreign"]
    assert told[0]["started"] == "2026-11-30T03:31:47.123456+00:00"


def test_inspect_tells_what_an_archive_says_of_itself_without_a_key(
    store: Directory, name: str, settings: Any
) -> None:
    settings.BACKUPS_KEYS = ""
    where = [name, "--directory", str(store.root)]
    lines = said("inspect", *where).splitlines()
    assert "rows        leads.lead 30" in lines
    assert f"encryption  AES-256-GCM-STREAM-64K, key {KEY.id}" in lines
    told = json.loads(said("inspect", *where, "--json"))
    assert told["counts"] == {label: len(rows) for label, rows in ROWS.items()}
    with pytest.raises(
        CommandError, match="backups.archive_missing: There is no archive"
    ) as refused:
        said("inspect", name.replace("full", "incremental"), *where[1:], "--json")
    told = json.loads(refused.value.printed)  # type: ignore[attr-defined]
    assert told["error"]["code"] == "backups.archive_missing"


def test_verify_says_sound_and_shows_how_far_it_is(store: Directory, name: str) -> None:
    terminal = Terminal()
    where = ["--directory", str(store.root)]
    assert said("verify", *where, err=terminal) == f"sound  {name}\n"
    assert f"\r{name}: 5 of 5 members, " in terminal.getvalue()
    elsewhere = StringIO()
    said("verify", name, *where, err=elsewhere)
    (line,) = elsewhere.getvalue().splitlines()
    assert line.startswith(f"{name}: 5 of 5 members, ")


def test_verify_fails_with_what_is_wrong(store: Directory, name: str, settings: Any) -> None:
    where = [name, "--directory", str(store.root)]
    settings.BACKUPS_KEYS = MasterKey.new().text
    with pytest.raises(CommandError, match="Not sound: 1 of 1"):
        said("verify", *where)
    settings.BACKUPS_KEYS = KEY.text
    (store.root / name / "data/leads.lead.jsonl.zst").unlink()
    with pytest.raises(CommandError, match="Not sound: 1 of 1") as refused:
        said("verify", *where, "--json")
    (report,) = json.loads(refused.value.printed)  # type: ignore[attr-defined]
    assert [each["code"] for each in report["findings"]] == ["backups.member_missing"]
    assert report["sound"] is False


def test_a_target_without_archives_is_not_verified(store: Directory) -> None:
    with pytest.raises(CommandError, match="no complete archive"):
        said("verify", "--directory", str(store.root))


def test_an_archive_that_is_not_encrypted_is_not_sound_unless_one_says_so(store: Directory) -> None:
    name, where = str(write(store, None).name), ["--directory", str(store.root)]
    with pytest.raises(CommandError, match="Not sound"):
        said("verify", *where)
    assert said("verify", *where, "--unencrypted").startswith("sound")
    assert f"encryption  {PLAIN}" in said("inspect", name, *where).splitlines()


@pytest.mark.django_db
def test_a_target_says_itself_whether_its_archives_are_encrypted(
    store: Directory, settings: Any
) -> None:
    settings.BACKUPS_VOLUME = str(store.root.parent)
    name = str(write(store, None).name)
    made = partial(BackupTarget.objects.create, kind="local", config={"path": store.root.name})
    made(name="cellar")
    made(name="open", encryption="none", plain_by="boss", plain_at=database_now("default"))
    with pytest.raises(CommandError, match="Not sound"):
        said("verify", "--target", "cellar")
    assert said("verify", "--target", "cellar", "--unencrypted").startswith("sound")
    assert said("verify", "--target", "open").startswith("sound")
    with pytest.raises(CommandError, match=r"backups.not_encrypted: .* say --unencrypted"):
        said("restore", name, "--target", "cellar")
    for options in (["--target", "open"], ["--target", "cellar", "--unencrypted"]):
        with pytest.raises(CommandError, match="backups.schema_ahead"):
            said("restore", name, *options)


def test_a_directory_is_only_read_and_nothing_leads_out_of_it(store: Directory, name: str) -> None:
    (store.root.parent / "outside").write_text("x")
    (store.root / "link").symlink_to(store.root.parent)
    for odd in ("red\x1b[31m\nline", ".hidden", "x" * 250):
        (store.root / odd).mkdir()
        (store.root / odd / "file").write_text("x")
    with ReadOnlyDirectory(store.root) as opened:
        assert [each.name for each in opened.list()] == [
            each.name for each in store.list() if "link" not in each.name
        ]
        for outside in (
            "../outside",
            "link/outside",
            "nothing",
            str(store.root.parent / "outside"),
            "nul\0",
            "x" * 300,
        ):
            with pytest.raises(ObjectMissing):
                list(opened.get(outside))
        with pytest.raises(TargetRefused, match="only read"):
            opened.put("x", [])
        with pytest.raises(TargetRefused, match="only read"):
            opened.delete(f"{name}/checksums.txt")
    with pytest.raises(CommandError, match="There is no such directory"):
        said("list", "--directory", str(store.root / "nowhere"))


@pytest.mark.django_db
def test_a_target_is_asked_by_its_name(store: Directory, name: str, settings: Any) -> None:
    settings.BACKUPS_VOLUME = str(store.root.parent)
    BackupTarget.objects.create(name="cellar", kind="local", config={"path": store.root.name})
    assert said("verify", name, "--target", "cellar") == f"sound  {name}\n"
    with pytest.raises(CommandError, match="There is no target 'attic'"):
        said("list", "--target", "attic")


@pytest.mark.django_db
def test_every_refusal_is_one_document_and_exit_code_1(store: Directory, settings: Any) -> None:
    where = ["--directory", str(store.root)]
    archive = "hubqueue-backup-all-20260101T000000.000000Z-full"
    for code, arguments in (
        ("backups.name_unknown", ["list", "--target", "attic"]),
        ("backups.name_unknown", ["plan", "nightly"]),
        ("backups.name_unknown", ["run", "--target", "attic"]),
        ("backups.name_unknown", ["restore", archive, *where, "--database", "none"]),
        ("backups.archive_missing", ["inspect", archive, *where]),
        ("backups.archive_missing", ["restore", archive, *where]),
        ("backups.database_not_empty", ["restore", archive, *where, "--system"]),
        ("backups.target_unreachable", ["list", "--directory", str(store.root / "nowhere")]),
    ):
        with pytest.raises(CommandError, match=code) as refused:
            said(*arguments, "--json")
        assert refused.value.returncode == 1
        told = json.loads(refused.value.printed)["error"]  # type: ignore[attr-defined]
        assert (told["code"], bool(told["text"])) == (code, True)
    settings.BACKUPS_KEYS = "nonsense"
    with pytest.raises(CommandError, match="backups.keys_unusable"):
        said("verify", *where)


def test_an_archive_opens_with_its_directory_and_its_key_and_nothing_else(
    store: Directory, name: str
) -> None:
    command = [sys.executable, "manage.py", "backups", "verify", "--directory", str(store.root)]
    done = subprocess.run(
        command,
        cwd=CHECKOUT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.test",
            "DATABASE_URL": "postgres://nobody:nothing@127.0.0.1:9/nowhere",
            "BACKUPS_KEYS": KEY.text,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"sound  {name}\n"), done.stderr
    (store.root / name / "checksums.txt").unlink()
    assert (
        subprocess.run([*command, name], cwd=CHECKOUT, capture_output=True, check=False).returncode
        == 1
    )
