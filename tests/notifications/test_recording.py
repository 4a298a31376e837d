"""Step one: what is recorded commits with its cause or not at all, once per cause, in a statement per table."""

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import CASCADE
from django.db.models.deletion import Collector, get_candidate_relations_to_delete
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from hubqueue.models import Job
from notifications import recording
from notifications.categories import Category, Subject, register
from notifications.errors import CategoryUnknown
from notifications.models import Notification, Preference
from notifications.services import Notice, notify, notify_many
from tests.support.rival import Rival
from tests.support.wait import until

pytestmark = pytest.mark.django_db
State = Notification.State


@pytest.fixture(autouse=True)
def news():
    return register(
        Category("test.news", "News", suppressible=True, describe=lambda record: Subject())
    )


@pytest.fixture
def security():
    return register(
        Category("test.security", "Security", suppressible=False, describe=lambda record: Subject())
    )


def person(name, **fields):
    said = {"email": f"{name}@example.org", **fields}
    return get_user_model().objects.create(username=name, **said)


def test_a_message_is_recorded_and_its_delivery_queued_for_each_recipient():
    ada, bob = person("ada"), person("bob")
    made = notify("test.news", [ada, bob], cause="c1", subject=ada, actor=bob, tenant="t1")
    rows = Notification.objects.in_bulk(made)
    assert {row.recipient_id: row.state for row in rows.values()} == {
        ada.pk: State.PENDING,
        bob.pk: State.SUPPRESSED,
    }
    assert [row.reason for row in rows.values() if row.recipient_id == bob.pk] == ["own_doing"]
    job = Job.objects.get()
    assert job.kind == "notifications.deliver"
    assert job.tenant_id == "t1"
    assert rows[made[0]].subject_type == "auth.user"


def test_what_is_rolled_back_is_neither_recorded_nor_queued():
    ada = person("ada")

    class Undone(Exception):
        pass

    with pytest.raises(Undone), transaction.atomic():
        notify("test.news", [ada], cause="c1")
        raise Undone
    assert not Notification.objects.exists()
    assert not Job.objects.exists()


@pytest.mark.parametrize("tenant", [None, "t1"])
def test_a_repeated_cause_is_recorded_once(tenant):
    ada = person("ada")
    assert len(notify("test.news", [ada, ada], cause="c1", tenant=tenant)) == 1
    assert notify("test.news", [ada], cause="c1", tenant=tenant) == []
    assert len(notify("test.news", [ada], cause="c2", tenant=tenant)) == 1
    assert Notification.objects.count() == Job.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "state", "reason"),
    [
        ({"email": ""}, State.SUPPRESSED, "no_address"),
        ({"is_active": False}, State.SUPPRESSED, "left"),
        ({"email": "a@example.org\r\nBcc: b@example.org"}, State.FAILED, "address_unsendable"),
        ({"email": "üser@example.org"}, State.FAILED, "address_unsendable"),
        ({"email": "a" * 290 + "@example.org"}, State.FAILED, "address_unsendable"),
        ({"email": "nobody"}, State.FAILED, "address_unsendable"),
    ],
)
def test_what_cannot_be_sent_is_recorded_with_its_reason_and_queues_nothing(fields, state, reason):
    who = get_user_model()(username="ada", **{"email": "ada@example.org", **fields})
    if len(who.email) > 254:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE auth_user ALTER COLUMN email TYPE varchar(400)")
    who.save()
    (made,) = notify("test.news", [who], cause="c1")
    row = Notification.objects.get(pk=made)
    assert (row.state, row.reason) == (state, reason)
    assert row.finished_at is not None
    assert not Job.objects.exists()


def test_a_category_that_was_switched_off_is_recorded_as_suppressed_unless_it_cannot_be(security):
    ada = person("ada")
    for name in ("test.news", "test.security"):
        Preference.objects.create(person=ada, category=name, since=timezone.now())
        notify(name, [ada], cause="c1 " + name)
    said = dict(Notification.objects.values_list("category", "state"))
    assert said == {"test.news": State.SUPPRESSED, "test.security": State.PENDING}


def test_an_unknown_category_is_refused_in_words():
    with pytest.raises(CategoryUnknown, match="register it in the ready"):
        notify("test.unknown", [person("ada")], cause="c1")


def test_ten_thousand_are_recorded_with_one_statement_per_table():
    users = get_user_model().objects
    people = users.bulk_create(
        users.model(username=f"p{n}", email=f"p{n}@example.org") for n in range(1000)
    )
    notices = [Notice("test.news", p.pk, f"cause {n}") for n in range(10) for p in people]
    with CaptureQueriesContext(connection) as seen:
        made = notify_many(notices)
    assert len(made) == Notification.objects.count() == Job.objects.count() == 10_000
    said = [q["sql"] for q in seen if "SAVEPOINT" not in q["sql"]]
    assert len(said) == 4, "people, preferences, records, jobs"


@pytest.mark.django_db(transaction=True)
def test_an_account_that_is_deleted_while_it_is_told_undoes_neither_the_cause_nor_the_others(
    monkeypatch,
):
    ada, bob, eve = person("ada"), person("bob"), person("eve")
    read_wishes = recording.read_wishes

    def late(ids):
        answer = read_wishes(ids)
        with Rival() as rival:
            rival.do(lambda: [each.delete() for each in (bob, eve)])
        return answer

    gone = eve.pk
    monkeypatch.setattr(recording, "read_wishes", late)
    with transaction.atomic():
        person("the cause")
        made = notify("test.news", [bob.pk, ada.pk], cause="c1", actor=gone)
    assert get_user_model().objects.filter(username="the cause").exists()
    (record,) = Notification.objects.all()
    assert ([record.pk], record.recipient_id, record.actor_id) == (made, ada.pk, None)
    assert Job.objects.count() == 1


def test_a_key_may_be_its_text_and_who_has_no_account_is_passed_over():
    ada = person("ada")
    (made,) = notify("test.news", [str(ada.pk), ada, ada.pk, 2**31 - 1], cause="c1")
    record = Notification.objects.get()
    assert (record.pk, record.recipient_id, record.state) == (made, ada.pk, State.PENDING)
    notify("test.news", [ada], cause="c2", actor=str(ada.pk))
    assert Notification.objects.get(cause_id="c2").reason == "own_doing"


def test_a_cause_that_is_too_long_is_refused_before_it_spoils_the_transaction():
    ada = person("ada")
    with pytest.raises(ValueError, match="cause: expected up to 150 characters, got 151"):
        notify("test.news", [ada], cause="c" * 151)
    assert not Notification.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_repeated_cause_while_its_account_is_deleted_is_no_deadlock():
    ada = person("ada")
    notify("test.news", [ada], cause="c1")
    with Rival() as deleting, Rival() as telling:
        deleting.begin()
        deleting.do(lambda: Notification.objects.filter(recipient=ada).delete())
        told = telling.start(lambda: notify("test.news", [ada.pk], cause="c1"))
        telling.until_blocked()
        deleting.do(lambda: get_user_model().objects.filter(pk=ada.pk).delete())
        deleting.commit()
        assert told.result(10) == []
    assert not Notification.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("told_as", ["recipient", "actor"])
def test_an_account_is_deleted_at_once_while_it_is_being_told(told_as):
    """Its records are deleted, and then another one comes."""
    ada, bob = person("ada"), person("bob")
    notify("test.news", [ada], cause="c1")
    told = []

    def tell():
        if told_as == "recipient":
            return notify("test.news", [ada.pk, bob.pk], cause="c2")
        return notify("test.news", [bob.pk], cause="c2", actor=ada.pk)

    def then_tell(execute, sql, *rest):
        answer = execute(sql, *rest)
        if sql.startswith('UPDATE "notifications_notification"') or (
            told_as == "recipient" and sql.startswith('DELETE FROM "notifications_notification"')
        ):
            told.append(rival.start(tell))
            until(lambda: told[0].done() or rival.is_blocked(), message="the rival's statement")
        return answer

    with Rival() as rival:
        with connection.execute_wrapper(then_tell):
            get_user_model().objects.get(pk=ada.pk).delete()
        (made,) = told[0].result(30)
    assert not get_user_model().objects.filter(pk=ada.pk).exists()
    record = Notification.objects.get()
    assert (record.pk, record.recipient_id, record.actor_id) == (made, bob.pk, None)


def test_all_that_belongs_to_an_account_is_deleted_by_statements_after_its_lock():
    """What was read before would miss what came meanwhile, and the deletion would fail."""
    people = get_user_model()
    collector = Collector("default")
    for relation in get_candidate_relations_to_delete(people._meta):
        field = relation.field
        rule = field.remote_field.on_delete
        rows = field.model._base_manager.all()
        late = collector.can_fast_delete(rows, from_field=field) if rule is CASCADE else None
        assert late or getattr(rule, "lazy_sub_objs", False), f"{field.model}.{field.name}"
