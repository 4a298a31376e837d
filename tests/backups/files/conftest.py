"""A gallery: an application whose rows name files, in this database and in an empty copy."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as configured
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection, connections
from django.test import override_settings

from backups.archive.chain import open_chain
from backups.archive.read import Archive
from backups.conf import conf
from backups.data.spec import discover
from backups.data.tables import tables
from backups.files.columns import Storages, storages_of
from backups.keys import MasterKey
from backups.models import BackupRun, BackupTarget
from backups.services import request_run
from backups.targets.opening import open_store
from hubqueue.testing import move_clock, run_due_jobs
from tests.backups.files.gallery.attic import Attic

KEY = MasterKey("one", bytes(range(32)))
GALLERY = "tests.backups.files.gallery.apps.GalleryConfig"


def create(using: str) -> None:
    with connections[using].schema_editor() as editor:
        for model in apps.get_app_config("gallery").get_models():
            editor.create_model(model)


@pytest.fixture(scope="module", autouse=True)
def gallery(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with override_settings(INSTALLED_APPS=[*configured.INSTALLED_APPS, GALLERY]):
        with django_db_blocker.unblock():
            create("default")
        yield
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute("DROP TABLE gallery_picture, gallery_album")


@pytest.fixture
def media(tmp_path: Path, settings: Any) -> Path:
    settings.MEDIA_ROOT = str(tmp_path / "media")
    return tmp_path / "media"


@pytest.fixture
def cellar(media: Path, tmp_path: Path, settings: Any, emptied: None) -> BackupTarget:
    settings.BACKUPS_VOLUME = str(tmp_path)
    settings.BACKUPS_KEYS = KEY.text
    return BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "cellar"})


@pytest.fixture
def emptied(transactional_db: None) -> Iterator[None]:
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE gallery_picture, gallery_album")


def stored(name: str, content: bytes) -> str:
    """A file in the usual storage, under exactly this name."""
    assert default_storage.save(name, ContentFile(content)) == name
    return name


def scanned(name: str, content: bytes) -> str:
    """The same in the attic."""
    assert Attic().save(name, ContentFile(content)) == name
    return name


def rows(model: str) -> Any:
    """The manager of a model of the gallery's, which cannot be imported before it is installed."""
    return apps.get_model(f"gallery.{model}").objects


def hang(tenant: str = "acme", **files: str) -> Any:
    """A row that names files."""
    album, _ = rows("Album").get_or_create(tenant_id=tenant)
    return rows("Picture").create(album=album, **files)


def made(target: BackupTarget, mode: str = "full", **more: Any) -> BackupRun:
    run = performed(request_run(target, trigger="manual", mode=mode, **more))
    assert (run.state, run.mode) == ("SUCCEEDED", mode), run.code
    return run


def performed(run: BackupRun, hours: int = 0) -> BackupRun:
    with move_clock(timedelta(hours=hours)):
        run_due_jobs(queues=["backups"])
    run.refresh_from_db()
    return run


@contextmanager
def opened(run: BackupRun) -> Iterator[list[Archive]]:
    with open_store(run.target) as store:
        yield open_chain(store, run.archive, conf().keys, encrypted=True)


def storages() -> Storages:
    return storages_of(tables(discover()))


def tree(*roots: Path) -> dict[str, bytes]:
    """Every file below these directories."""
    return {
        str(each.relative_to(root.parent)): each.read_bytes()
        for root in roots
        for each in sorted(root.rglob("*"))
        if each.is_file()
    }
