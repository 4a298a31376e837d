"""A dump restored into another cluster, whose count of transactions is behind or ahead: nobody is stranded.

A restore is told by what it does: rows keep the numbers that they came with, and are written by a
transaction of the new cluster.
"""

from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from leads import services
from leads.marks import read_clock, whole_number
from leads.matching import matchers
from leads.models import Registration, WalkMark
from tests.leads.made import (
    elsewhere,
    make_event,
    make_registration,
    taken,
    walk_all,
    walk_until_done,
)

# Alone: a neighbour's open transaction, in whatever database of the cluster, holds back what a walk has seen.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.alone]
FAR = 2**40  # more than the row of a tuple can hold
NEAR = 40


@pytest.fixture
def rule():
    return services.create_rule(name="everybody", on_create=True)


@pytest.fixture
def event(rule):
    """An event whose registrations were all taken, with a mark."""
    made = make_event()
    for _ in range(3):
        services.register(made, name="A", phone="1")
    walk_until_done()
    assert (WalkMark.objects.count(), len(taken(rule.pk))) == (1, 3)
    return made


def counter():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text::bigint")
        return cursor.fetchone()[0]


@contextmanager
def as_a_restore_writes():
    """Without the trigger that stamps, which a dump creates after its rows."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE leads_registration DISABLE TRIGGER leads_registration_stamp")
        yield
        cursor.execute("ALTER TABLE leads_registration ENABLE TRIGGER leads_registration_stamp")


def restored(marks, registrations=None):
    """Everything came by a dump: marks with this number, registrations stamped with that one."""
    WalkMark.objects.update(seen_xid=marks)
    if registrations is not None:
        with as_a_restore_writes():
            Registration.objects.update(changed_xid=registrations)


def since(event):
    (matcher,) = matchers(event, read_clock(event.pk))
    return matcher.since


def let_pass(count):
    while counter() <= count:
        pass


def test_a_mark_that_was_made_here_is_believed(event):
    assert since(event) == WalkMark.objects.get().seen_xid > 0


def test_a_mark_ahead_of_the_cluster_is_not_believed(event, rule):
    restored(FAR)
    assert since(event) == 0
    late = services.register(event, name="B", phone="1")
    walk_until_done()
    assert late.pk in taken(rule.pk)
    assert since(event) == WalkMark.objects.get().seen_xid < FAR


def test_a_mark_is_not_believed_either_once_the_cluster_has_caught_up_with_it(event, rule):
    """Who came in unarmed, or while the rule was off, before the counter passed the restored mark."""
    ahead = counter() + NEAR
    restored(ahead)
    late = make_registration(event)
    let_pass(ahead)
    assert Registration.objects.get(pk=late.pk).changed_xid < WalkMark.objects.get().seen_xid
    assert since(event) == 0
    services.arm_event(event)
    walk_until_done()
    assert late.pk in taken(rule.pk)


def test_a_mark_behind_the_cluster_is_right_as_the_rows_that_came_with_it_are(event, rule):
    unseen, seen = make_registration(event), Registration.objects.order_by("id").first()
    restored(5, 3)
    with as_a_restore_writes():
        Registration.objects.filter(pk=unseen.pk).update(changed_xid=5)
    assert since(event) == 5
    late = make_registration(event)
    services.arm_event(event)
    walk_until_done()
    assert {unseen.pk, late.pk, seen.pk} <= taken(rule.pk)


def test_rows_stamped_ahead_of_the_cluster_are_taken_and_stop_costing(event, rule, settings):
    settings.EVENT_LEAD_BATCH = 2
    unseen = [make_registration(event).pk for _ in range(5)]
    restored(FAR, FAR + 7)
    late = services.register(event, name="B", phone="1")
    walk_until_done()
    assert {*unseen, late.pk} <= taken(rule.pk)
    assert len(taken(rule.pk)) == 9
    seen = WalkMark.objects.get().seen_xid
    assert not Registration.objects.filter(changed_xid__gte=seen).exists()
    assert since(event) == seen
    after = services.register(event, name="C", phone="1")
    assert walk_all().summary.matched == 1
    assert after.pk in taken(rule.pk)


def test_a_row_ahead_of_the_cluster_that_somebody_holds_is_taken_all_the_same(event, rule):
    unseen = make_registration(event)
    restored(FAR, FAR + 7)
    services.arm_event(event)
    with transaction.atomic():
        Registration.objects.select_for_update(no_key=True).get(pk=unseen.pk)
        elsewhere(walk_until_done)
    assert unseen.pk in taken(rule.pk)


def test_a_walk_rolled_into_savepoints_still_believes_its_mark(event):
    with transaction.atomic():
        services.arm_event(event)
        with transaction.atomic():
            walk_all()
        assert since(event) == WalkMark.objects.get().seen_xid > 0
    assert since(event) == WalkMark.objects.get().seen_xid > 0


@pytest.mark.parametrize(
    ("short", "near", "whole"),
    [
        (700, 750, 700),
        (2**32 - 5, 2**32 + 3, 2**32 - 5),
        (3, 2**32 - 2, 2**32 + 3),
        (9, 5 * 2**32 + 20, 5 * 2**32 + 9),
    ],
)
def test_a_short_number_is_read_in_the_cycle_that_is_nearest(short, near, whole):
    assert whole_number(short, near) == whole
