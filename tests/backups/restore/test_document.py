"""The worst day, by the lines of the document as they stand there."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections

from backups.data.spec import discover
from backups.data.tables import tables
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY
from tests.backups.data.databases import database
from tests.backups.data.test_project import checksums, fill
from tests.backups.restore.test_worst_day import archived
from tests.conftest import CHECKOUT, _url
from tests.docs.blocks import blocks, prose

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "copy"]),
]
DOCUMENT = CHECKOUT / "docs" / "backups.md"


@pytest.fixture(scope="module", autouse=True)
def copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    """The new machine's database, without a table."""
    with django_db_blocker.unblock(), database("copy") as made:
        yield made


def lines() -> list[str]:
    """What is typed from a checkout with its packages on, but for the files of pages."""
    (block,) = [each for each in blocks(DOCUMENT, "sh") if "backups restore" in each.text]
    typed = [each for each in block.lines() if "manage.py" in each]
    assert typed.pop().endswith("collectstatic --noinput")
    return typed


def test_its_lines_bring_an_installation_back_into_an_empty_database(
    process_env: dict[str, str], tmp_path: Path
) -> None:
    assert "## The worst day" in prose(DOCUMENT)
    fill()
    with Directory(tmp_path / "backups") as store:
        name = str(archived(store).name)
    for variable in ("DATABASE_URL", "SECRET_KEY", "BACKUPS_KEYS", "DJANGO_SETTINGS_MODULE"):
        assert f"{variable}=" in DOCUMENT.read_text()
    env = process_env | {
        "DATABASE_URL": _url(connections["copy"].settings_dict),
        "BACKUPS_KEYS": KEY.text,
    }
    said = []
    for line in lines():
        words = line.replace("ARCHIVE", name).replace("/mnt/backups", str(store.root)).split()
        assert words.pop(0) == ".venv/bin/python"
        done = subprocess.run(
            [sys.executable, *words],
            cwd=CHECKOUT,
            env=env,
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        said.append(done.stdout)
    _, listed, can, restored = said
    assert f"complete    {name}" in listed
    assert can.startswith(f"can be restored  {name}")
    assert restored.startswith(f"restored  {name}")
    chosen = [each for each in tables(discover()) if each.label == "auth.User"]
    assert checksums(chosen, "copy") == checksums(chosen, "default")
    assert User.objects.using("copy").filter(username="boss").exists()
