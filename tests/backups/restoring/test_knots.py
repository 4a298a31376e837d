"""Rows in circles, rows of their like, and rows whose keys are other rows' come back, and come in a second time."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import ForeignKey
from django.test import override_settings

from backups.data.spec import discover
from backups.data.tables import tables
from backups.models import BackupRestore, BackupRun, NewKey, RestoreKey
from backups.restores import request_restore
from backups.restoring import clear, new_keys, reading
from backups.restoring.work import Work
from hubqueue.models import Job
from hubqueue.querysets import database_now
from hubqueue.testing import run_due_jobs
from leads.models import Event
from tests.backups.restoring.conftest import QUEUE, checksums, performed
from tests.backups.restoring.second import brought, expected, rows_of

pytestmark = pytest.mark.django_db
State, Phase = BackupRestore.State, BackupRestore.Phase
LEADS = {"Cook": "inn__", "Account": "owner__", "Seal": "account__owner__", "Egg": "laid_by__"}
KNOTS = "tests.backups.restoring.knots.apps.KnotsConfig"


@pytest.fixture(scope="module", autouse=True)
def knots(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The tables, before ``base`` fills them."""
    with override_settings(INSTALLED_APPS=[*configured.INSTALLED_APPS, KNOTS]):
        made = list(apps.get_app_config("knots").get_models())
        with django_db_blocker.unblock(), connection.schema_editor() as editor:
            for each in made:
                editor.create_model(each)
        yield
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            names = ["knots_cook_likes", *(each._meta.db_table for each in made)]
            cursor.execute(f"DROP TABLE {', '.join(names)}")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of two rows, so that few rows are many batches."""
    for module in (clear, reading, new_keys):
        monkeypatch.setattr(module, "BATCH", 2)


def model(name: str) -> Any:
    """A model that cannot be imported before its application is installed."""
    return apps.get_model(f"knots.{name}")


def more(event: Event, boss: User) -> None:
    model("Grade").objects.create(guide="A", number=1)
    for tenant in ("acme", "other"):
        _tie(tenant)


def _tie(tenant: str) -> None:
    of = {"tenant_id": tenant}
    inns = [model("Hotel").objects.create(**of, name=f"inn {at}", stars=at) for at in range(5)]
    for inn, other in pairwise(inns):
        model("Place").objects.filter(pk=inn.pk).update(within=other)
    model("Place").objects.create(**of, name="alone")
    cooks = [model("Cook").objects.create(name=f"cook {at}", inn=inns[at]) for at in range(5)]
    for at, inn in enumerate(inns):
        model("Inn").objects.filter(pk=inn.pk).update(cook=cooks[at - 1])
        cooks[at].likes.add(inns[at - 2])
    owners = [model("Owner").objects.create(**of, name=f"owner {number}") for number in range(5)]
    accounts = [model("Account").objects.create(owner=each, name=each.name) for each in owners]
    for at, owner in enumerate(owners):
        model("Owner").objects.filter(pk=owner.pk).update(pays_from=accounts[at - 1])
        model("Seal").objects.create(account=accounts[at], name=f"seal {at}")
    with transaction.atomic():
        hens = [
            model("Hen").objects.create(**of, name=f"hen {at}", came_of_id=0) for at in range(5)
        ]
        for at in range(5):
            egg = model("Egg").objects.create(name=f"egg {at}", laid_by=hens[at - 1])
            model("Hen").objects.filter(pk=hens[at].pk).update(came_of=egg)
    links = [model("Link")(**of, name=f"link {number}") for number in range(5)]
    with transaction.atomic():
        for at, link in enumerate(links):
            link.next_id = links[at - 1].pk
            link.save(force_insert=True)


def story(tenant: str) -> dict[str, list[Any]]:
    """What the rows of the tenant say of each other, without a key: every reference as the name of what it leads to."""
    ways = {
        "Place": ("name", "within__name", "inn__name", "inn__hotel__name"),
        "Inn": ("name", "cook__name", "cook__inn__name"),
        "Hotel": ("name", "stars", "cook__name", "within__name"),
        "Cook": ("name", "inn__name", "likes__name", "likes__stars"),
        "Owner": ("name", "pays_from__name", "pays_from__owner__name"),
        "Account": ("name", "owner__name", "seal__name"),
        "Seal": ("name", "account__owner__name"),
        "Hen": ("name", "came_of__name"),
        "Egg": ("name", "laid_by__name"),
        "Link": ("name", "next__name", "next__next__name"),
    }
    return {
        name: sorted(
            model(name)
            .objects.filter(**{f"{LEADS.get(name, '')}tenant_id": tenant})
            .values_list(*way),
            key=str,
        )
        for name, way in ways.items()
    }


def crossed(tenant: str) -> list[str]:
    """References from rows of the tenant's own to rows of another."""
    found = []
    for each in apps.get_app_config("knots").get_models():
        if each is model("Grade"):
            continue
        way = LEADS.get(each.__name__, "")
        mine = each._base_manager.filter(**{f"{way}tenant_id": tenant})
        for field in each._meta.local_concrete_fields:
            if isinstance(field, ForeignKey):
                name = f"{field.name}__{LEADS.get(field.related_model.__name__, '')}tenant_id"
                if (
                    mine.filter(**{f"{field.name}__isnull": False})
                    .exclude(**{name: tenant})
                    .exists()
                ):
                    found.append(str(field))
    return found


@pytest.fixture
def run(archived: BackupRun) -> BackupRun:
    assert all(len(rows) >= 5 for rows in story("acme").values())
    return archived


def test_a_second_tenant_is_tied_as_the_first_one_is_and_to_none_of_its_rows(
    run: BackupRun,
) -> None:
    before, others, told = checksums("acme"), checksums("other"), story("acme")
    restore, keys = brought(run, "second")
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert rows_of("second") == expected("acme", "second", keys)
    assert sum(map(len, rows_of("second").values())) == len(keys)
    assert story("second") == told
    assert crossed("second") == []
    assert (checksums("acme"), checksums("other")) == (before, others)
    assert not NewKey.objects.exists()
    assert not RestoreKey.objects.exists()


def retied(tenant: str) -> None:
    """Rows that are gone, changed and new."""
    mine = {"tenant_id": tenant}
    model("Inn").objects.filter(**mine).update(cook=None)
    model("Cook").objects.filter(inn__tenant_id=tenant).first().delete()
    model("Place").objects.filter(**mine).update(within=None, name="changed")
    model("Seal").objects.filter(account__owner__tenant_id=tenant).delete()
    owner = model("Owner").objects.filter(**mine).first()
    model("Owner").objects.filter(**mine).update(pays_from=owner.pk)
    link = model("Link").objects.filter(**mine).first()
    model("Link").objects.filter(**mine).update(next=link)
    hen = model("Hen").objects.filter(**mine).first()
    model("Egg").objects.filter(laid_by__tenant_id=tenant).update(laid_by=hen)
    inn = model("Inn").objects.create(**mine, name="later")
    model("Cook").objects.create(name="later", inn=inn)


def gone(tenant: str) -> None:
    """None of the tenant's rows is left."""
    keys = {
        each.model: list(
            each.model.objects.filter(each.own_of(tenant)).values_list("pk", flat=True)
        )
        for each in tables(discover())
        if each.label.startswith("knots.") and each.own_of(tenant) is not None
    }
    for each, mine in keys.items():
        each.objects.filter(pk__in=mine)._raw_delete("default")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def asked(run: BackupRun, mode: str, **more: Any) -> BackupRestore:
    return request_restore(run, mode=mode, **more)


def test_what_was_tied_otherwise_is_replaced_by_what_it_was(run: BackupRun) -> None:
    before, others, told = checksums("acme"), checksums("other"), story("acme")
    retied("acme")
    restore = performed(asked(run, "replace"))
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert story("acme") == told
    assert (checksums("acme"), checksums("other")) == (before, others)


@pytest.mark.parametrize("if_there", ["skip", "overwrite"])
def test_rows_that_are_gone_come_back_tied_as_they_were(run: BackupRun, if_there: str) -> None:
    before, others = checksums("acme"), checksums("other")
    gone("acme")
    restore = performed(asked(run, "merge", if_there=if_there))
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert (checksums("acme"), checksums("other")) == (before, others)


def test_a_merge_that_overwrites_ties_rows_as_they_were(run: BackupRun) -> None:
    before = checksums("acme")
    retied("acme")
    restore = performed(asked(run, "merge", if_there="overwrite"))
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    model("Place").objects.filter(name="later").delete()
    assert checksums("acme") == before


@pytest.mark.parametrize(
    ("phase", "label"),
    [(Phase.LOAD, "knots.Seal"), (Phase.LINK, "knots.Place")],
)
def test_what_a_stopped_one_wrote_goes_again(
    run: BackupRun, monkeypatch: pytest.MonkeyPatch, phase: str, label: str
) -> None:
    before = checksums(None)
    restore = asked(run, "new_tenant", tenant="second")
    batch = Work.batch

    def stopping(work: Work) -> Any:
        if (work.restore.phase, work.restore.label) == (phase, label):
            work.job.watch.stop = "cancel"  # type: ignore[assignment]
            Job.objects.filter(pk=restore.job_id).update(stop_requested="cancel")
        return batch(work)

    with monkeypatch.context() as patched:
        patched.setattr(Work, "batch", stopping)
        run_due_jobs(kinds=["backups.restore"], queues=QUEUE)
    restore.refresh_from_db()
    assert (restore.state, restore.phase, restore.label) == (State.CANCELLED, phase, label)
    assert any(map(len, story("second").values()))
    run_due_jobs(kinds=["backups.undo_restore"], queues=QUEUE)
    assert checksums(None) == before


class Killed(BaseException):
    """What a process that is killed does not survive."""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["replace", "new_tenant"])
def test_killed_after_every_batch_it_comes_to_the_same_rows(
    run: BackupRun, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    told, others, batch, deaths = story("acme"), checksums("other"), Work.batch, list[Any]()
    retied("acme")
    tenant = {"tenant": "second"} if mode == "new_tenant" else {}
    restore = asked(run, mode, **tenant)

    @contextmanager
    def dying(work: Work) -> Iterator[None]:
        with batch(work):
            yield
        place = (work.restore.phase, work.restore.label, work.restore.line)
        if work.restore.phase != Phase.CLEAR and place not in deaths:
            deaths.append(place)
            raise Killed

    monkeypatch.setattr(Work, "batch", dying)
    while restore.state == State.RUNNING and len(deaths) < 200:
        Job.objects.filter(pk=restore.job_id).update(
            state="READY", claimed_by=None, attempts=0, run_at=database_now("default")
        )
        run_due_jobs(queues=QUEUE)
        restore.refresh_from_db()
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert {label for _, label, _ in deaths} >= {"knots.Inn", "knots.Egg", "knots.Link"}
    assert story(restore.tenant) == told
    assert crossed(restore.tenant) == []
    assert checksums("other") == others
