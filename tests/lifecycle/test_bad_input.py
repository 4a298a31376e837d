"""What cannot be stored is refused where it is given, by the name of the argument, and harms nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Group
from django.db import connection, models, transaction
from django.utils.translation import gettext_lazy

from hubqueue.api import Handler, JobContext, PayloadRefused, Result, handler
from hubqueue.conf import conf
from hubqueue.models import Job
from hubqueue.testing import assert_enqueued, run_due_jobs
from tests.support.handlers import Box, Colour, typed

pytestmark = pytest.mark.django_db

AWARE = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
NAIVE = AWARE.replace(tzinfo=None)
# Berlin's clocks were 53 minutes and 28 seconds ahead of UTC until 1893.
SOLAR = datetime(1890, 1, 1, tzinfo=ZoneInfo("Europe/Berlin"))


@dataclass(frozen=True)
class Holder:
    at: datetime
    inside: Any = None


@handler("sample.holding")
def holding(job: JobContext, *, holder: Holder, keyed: dict[int, str] | None = None) -> None:
    """Takes a dataclass with things inside."""


class Choice(models.TextChoices):
    ONE = "one"


def never_ends() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


REFUSED: list[tuple[str, Any]] = [
    ("text", "nul \x00"),
    ("text", "lone \ud800"),
    ("texts[0][1]", [["fine", "nul \x00"]]),
    ("anything.a", {"a": "lone \udfff"}),
    ("anything (a key)", {"nul \x00": 1}),
    ("anything (a key)", {"lone \ud800": 1}),
    ("table (a key)", {"lone \ud800": 1}),
    ("share", float("nan")),
    ("share", float("inf")),
    ("share", -float("inf")),
    ("share", 10**400),
    ("anything[1]", [0.0, float("nan")]),
    ("number", 10**400),
    ("number", 2**63),
    ("number", 2**53),
    ("number", -(2**53)),
    ("anything.deep[0]", {"deep": [2**63]}),
    ("anything", Group(name="a row")),
    ("text", Group(name="a row")),
    ("anything", {1, 2}),
    ("anything.a", {"a": frozenset({1})}),
    ("moment", NAIVE),
    ("moment", SOLAR),
    ("anything[0]", [NAIVE]),
    ("anything", AWARE),
    ("anything", b"bytes"),
    ("text", b"bytes"),
    ("anything", Decimal("1.10")),
    ("anything", uuid4()),
    ("anything", (1, 2)),
    ("anything", Colour.RED),
    ("anything", Box(1)),
    ("anything", gettext_lazy("later")),
    ("text", gettext_lazy("later")),
    ("anything", object()),
    ("anything", {1: "a"}),
    ("table", {1: 2}),
    ("table", {"a": "b"}),
    ("number", "1"),
    ("number", True),
    ("number", 1.5),
    ("uuid", "not one"),
    ("day", "2026-13-01"),
    ("colour", "green"),
    ("box", {"width": "wide"}),
    ("text", 5),
    ("no_such", 5),
    ("anything", never_ends()),
]


@pytest.mark.parametrize(("path", "value"), REFUSED, ids=lambda each: repr(type(each)))
def test_what_cannot_be_stored_is_refused_by_name_and_the_transaction_goes_on(
    path: str, value: Any
) -> None:
    argument = path.split("[")[0].split(".")[0].split(" ")[0]
    with transaction.atomic():
        Group.objects.create(name="before")
        with pytest.raises(PayloadRefused) as refused:
            typed.enqueue(**{argument: value})
        assert Group.objects.count() == 1
    assert refused.value.argument.startswith(argument)
    assert str(refused.value).startswith(argument)
    if path != argument and not isinstance(value, dict | list):
        assert refused.value.argument == path
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("path", "value"), [row for row in REFUSED if "[" in row[0] or "." in row[0]]
)
def test_the_refusal_names_the_place_inside(path: str, value: Any) -> None:
    argument = path.split("[")[0].split(".")[0]
    with pytest.raises(PayloadRefused) as refused:
        typed.enqueue(**{argument: value})
    assert refused.value.argument == path


def test_the_refusal_never_quotes_the_value() -> None:
    for value in ("s3cret \x00", "s3cret \ud800", b"s3cret", ["s3cret", b"x"]):
        with pytest.raises(PayloadRefused) as refused:
            typed.enqueue(text=value)
        assert "s3cret" not in str(refused.value)


def test_a_missing_argument_is_named() -> None:
    with pytest.raises(PayloadRefused, match="holder: missing argument") as refused:
        holding.enqueue()
    assert refused.value.argument == "holder"


def test_things_inside_a_dataclass_are_looked_at_too() -> None:
    for holder in (Holder(NAIVE), Holder(AWARE, NAIVE), Holder(AWARE, {1}), Holder(AWARE, b"x")):
        with pytest.raises(PayloadRefused, match="holder"):
            holding.enqueue(holder=holder)
    with pytest.raises(PayloadRefused, match="keyed"):
        holding.enqueue(holder=Holder(AWARE), keyed={1: "a"})
    holding.enqueue(holder=Holder(AWARE, {"fine": [1]}))


def test_the_size_limit_is_stated_in_the_refusal() -> None:
    with pytest.raises(PayloadRefused, match=r"5,\d{3},\d{3} bytes of JSON, at most 262,144"):
        typed.enqueue(text="x" * 5_000_000)
    with pytest.raises(PayloadRefused, match="meta"):
        typed.using(meta={"x": "y" * 5000}).enqueue()
    fits = conf().payload_limit - len('{"text":""}')
    typed.enqueue(text="x" * fits)
    with pytest.raises(PayloadRefused):
        typed.enqueue(text="x" * (fits + 1))


OPTIONS: list[tuple[str, Any]] = [
    ("tenant", ""),
    ("tenant", "t" * 65),
    ("tenant", "nul \x00"),
    ("tenant", "lone \ud800"),
    ("dedupe_key", ""),
    ("dedupe_key", "k" * 201),
    ("dedupe_key", "nul \x00"),
    ("dedupe_key", "lone \ud800"),
    ("dedupe_key", 7),
    ("run_at", NAIVE),
    ("run_at", "tomorrow"),
    ("run_at", date(2026, 1, 1)),
    ("run_at", timedelta(1)),
    ("run_at", datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))),
    ("priority", 2**15),
    ("priority", -(2**15) - 1),
    ("priority", "high"),
    ("priority", 1.5),
    ("priority", True),
    ("meta", {"a": {1}}),
    ("meta", {"nul \x00": 1}),
    ("meta", {1: 1}),
    ("meta", ["not an object"]),
    ("meta", {"n": float("nan")}),
]


@pytest.mark.parametrize(("name", "value"), OPTIONS)
def test_a_bad_option_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(PayloadRefused) as refused, transaction.atomic():
        typed.using(**{name: value}).enqueue()
    assert refused.value.argument.startswith(name)
    assert not Job.objects.exists()


@pytest.mark.parametrize("moment", [AWARE, SOLAR, datetime.max.replace(tzinfo=UTC)], ids=str)
def test_a_moment_asked_for_is_kept_to_the_microsecond(moment: datetime) -> None:
    job = Job.objects.get(pk=typed.using(run_at=moment).enqueue().id)
    assert job.run_at == moment


def test_one_bad_item_of_many_stores_none() -> None:
    with pytest.raises(PayloadRefused):
        typed.enqueue_many([typed.item(), typed.item(text="\x00")])
    assert not Job.objects.exists()


KEPT: list[dict[str, Any]] = [
    {"uuid": UUID("01890a5d-ac96-774b-bcce-b302099a8057")},
    {"moment": AWARE},
    {"moment": datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))},
    {"moment": datetime(1, 1, 1, 12, tzinfo=timezone(timedelta(hours=-5)))},
    {"day": date(2026, 2, 28)},
    {"wait": timedelta(days=-3, microseconds=1)},
    {"price": Decimal("1.10")},
    {"price": Decimal("123456789012345678901234567890.123")},
    {"colour": Colour.BLUE},
    {"box": Box(3, "ü")},
    {"boxes": [Box(1), Box(2, "b")]},
    {"number": 2**53 - 1},
    {"number": -(2**53) + 1},
    {"share": 1e-300},
    {"share": 1e300},
    {"share": -0.5},
    {"text": "\U0001f41d" * 20_000},
    {"text": "\x01\x7f\u2028\ufeff\uffff"},
    {"texts": [["a", ""], []]},
    {"table": {"": 0, "ü\n": 1}},
    {"anything": {"a": [None, True, 0, 1.5, "x", {"b": []}]}},
    {"anything": None},
    {"text": Choice.ONE},
]


@pytest.mark.parametrize("arguments", KEPT, ids=lambda each: next(iter(each)))
def test_what_is_stored_comes_back_as_it_was(arguments: dict[str, Any]) -> None:
    name, value = next(iter(arguments.items()))
    seen: list[Any] = []
    hear(typed, lambda **given: seen.append(given[name]), arguments)
    assert isinstance(value, type(seen[0]))
    if isinstance(value, datetime):
        # The offset is kept, the name of the zone is not; across zones a repeated hour never compares equal.
        assert (seen[0].utcoffset(), value) == (value.utcoffset(), seen[0].astimezone(value.tzinfo))
    else:
        assert seen == [value]


def test_an_argument_that_is_left_out_takes_its_default() -> None:
    seen: list[dict[str, Any]] = []
    hear(typed, lambda **given: seen.append(given), {})
    assert seen == [{}]


def hear(each: Handler[...], listener: Callable[..., object], arguments: dict[str, Any]) -> None:
    """Enqueue, then run with ``listener`` in the place of the handler's function."""
    each.enqueue(**arguments)
    assert_enqueued(each, **arguments)
    original = each.function

    def function(job: JobContext, **given: Any) -> Result | None:
        listener(**given)
        return None

    each.function = function
    try:
        assert not run_due_jobs(kinds=[each]).failures
    finally:
        each.function = original


DAMAGED = [
    "[1, 2]",
    '"text"',
    "5",
    "null",
    '{"number": "five"}',
    '{"no_such": 1}',
    '{"uuid": "x"}',
    '{"moment": "yesterday"}',
    '{"box": []}',
]


@pytest.mark.parametrize("payload", DAMAGED)
def test_a_row_that_was_damaged_fails_alone(payload: str) -> None:
    bad = typed.enqueue(number=1).id
    good = typed.enqueue(number=2).id
    with connection.cursor() as cursor:
        cursor.execute("UPDATE hubqueue_job SET payload = %s::jsonb WHERE id = %s", [payload, bad])
    report = run_due_jobs()
    assert [run.job_id for run in report.failures] == [bad]
    assert report.failures[0].code == "payload_refused"
    assert Job.objects.get(pk=good).state == "SUCCEEDED"


def test_time_of_day_is_kept() -> None:
    @handler("sample.timed")
    def timed(job: JobContext, *, at: time) -> None:
        """Takes a time."""

    seen: list[Any] = []
    hear(timed, lambda at: seen.append(at), {"at": time(1, 2, 3)})
    assert seen == [time(1, 2, 3)]
