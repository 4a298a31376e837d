"""Tombstones do not stay for ever."""

import pytest
from django.utils import timezone

from backups.changes.forget import forget
from backups.data.snapshot import snapshot
from backups.models import BackupRun, BackupTarget, Tombstone

pytestmark = pytest.mark.django_db(transaction=True)


def seen() -> str:
    with snapshot([]) as taken:
        return taken.transactions


def run(state: str, transactions: str = "") -> BackupRun:
    target, _ = BackupTarget.objects.get_or_create(name="cellar", kind="local")
    ended = None if state == "RUNNING" else timezone.now()
    return BackupRun.objects.create(
        target=target, trigger="manual", state=state, transactions=transactions, finished_at=ended
    )


def bury(key: str) -> None:
    Tombstone.objects.create(table="shop_order", key=key)


def test_tombstones_stay_as_long_as_an_archive_can_ask_for_them() -> None:
    Tombstone.objects.all().delete()  # the emptying of tables leaves marks
    bury("1")
    parent = run("SUCCEEDED", seen())
    bury("2")
    assert forget() == 1
    assert [each.key for each in Tombstone.objects.all()] == ["2"]
    on = run("RUNNING")
    BackupRun.objects.filter(pk=parent.pk).update(state="EXPIRED")
    assert forget() == 0
    on.delete()
    assert forget() == 1
