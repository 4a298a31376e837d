"""What manage.py check refuses about schedules."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from hubqueue.api import Handler, JobContext, handler
from hubqueue.conf import conf
from hubqueue.registry import Schedule, registry
from hubqueue.scheduler.checks import check_schedules, problems

Make = Callable[..., Schedule]


@pytest.fixture
def demanding() -> Iterator[Handler[Any]]:
    @handler("schedulertest.demanding")
    def demanding(job: JobContext, *, name: str) -> None:
        """Nothing."""

    yield demanding
    del registry.by_kind["schedulertest.demanding"], registry.handlers["schedulertest.demanding"]


def test_a_good_schedule_has_no_problem(schedule: Make) -> None:
    assert problems([schedule("0 3 * * *", timezone="Europe/Berlin")]) == []


@pytest.mark.parametrize(
    ("wrong", "check_id", "words"),
    [
        ({"cron": "0 25 * * *"}, "hubqueue.E020", "'0 25 * * *'"),
        ({"timezone": "Berlin"}, "hubqueue.E021", "'Berlin'"),
        ({"limit": 0}, "hubqueue.E022", "got 0"),
        ({"name": "n" * 101}, "hubqueue.E023", "got 101"),
    ],
)
def test_a_wrong_schedule_is_refused_with_what_was_given(
    schedule: Make, wrong: dict[str, Any], check_id: str, words: str
) -> None:
    ((found, sentence),) = problems([schedule(**wrong)])
    assert found == check_id
    assert words in sentence
    assert sentence.endswith(".")


def test_a_handler_that_needs_arguments_cannot_be_periodic(
    schedule: Make, demanding: Handler[Any]
) -> None:
    good = schedule()
    wrong = Schedule(good.name, demanding, good.cron, good.timezone, good.missed, good.limit)
    ((found, sentence),) = problems([wrong])
    assert found == "hubqueue.E024"
    assert "'name'" in sentence


def test_the_check_looks_at_the_registered_schedules(
    schedule: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.schedules, "wrong", schedule("never", name="wrong"))
    assert [each.id for each in check_schedules()] == ["hubqueue.E020"]


def test_settings_that_cannot_be_read_are_told_once_and_not_raised() -> None:
    with override_settings(HUBQUEUE={"LEASSE": 1}):
        conf.cache_clear()
        try:
            found = run_checks(tags=["hubqueue"])
        finally:
            conf.cache_clear()
    conf.cache_clear()
    assert [each.id for each in found] == ["hubqueue.E000"]
