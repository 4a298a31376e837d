"""The entry in ``TASKS``: what is wrong in it is said by the checks, and refused when it matters."""

import sys
from collections.abc import Callable
from typing import Any

import django
import pytest
from django.core.checks import Error

from hubqueue.backend import HubQueueBackend, run
from hubqueue.backend.compat import InvalidTask, InvalidTaskBackend, task_backends
from hubqueue.backend.options import Options, read
from hubqueue.handlers import names_ours
from hubqueue.registry import registry
from tests.tasks import functions
from tests.tasks.conftest import OWN, THEIRS

Use = Callable[..., None]


class Ours(HubQueueBackend):
    """A project's own refinement."""


def test_on_a_django_that_has_the_framework_the_package_is_not_imported() -> None:
    assert (django.VERSION >= (6, 0)) != ("django_tasks" in sys.modules)
    assert (django.VERSION >= (6, 0)) == ("django.tasks" in sys.modules)


def test_options_have_defaults() -> None:
    assert read({}) == (Options(transactional=False, max_attempts=1), [])
    assert read({"transactional": True, "max_attempts": 3}) == (Options(True, 3), [])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"retries": 3}, "OPTIONS: expected some of max_attempts, transactional, got 'retries'"),
        ({"max_attempts": 0}, "OPTIONS['max_attempts']: expected at least 1, got 0."),
        ({"max_attempts": True}, "OPTIONS['max_attempts']: expected a whole number, got bool."),
        ({"transactional": "yes"}, "OPTIONS['transactional']: expected True or False, got str."),
    ],
)
def test_wrong_options_are_an_error_of_the_checks_and_of_the_first_enqueue(
    use: Use, given: dict[str, Any], said: str
) -> None:
    use(OPTIONS=given)
    (error,) = task_backends["default"].check()
    assert isinstance(error, Error)
    assert error.id == "hubqueue.E030"
    assert error.msg.startswith(f"TASKS['default']: {said}")
    with pytest.raises(InvalidTaskBackend) as refused:
        functions.nothing.enqueue()
    assert said in str(refused.value)


def test_a_queue_that_hubqueue_does_not_have_is_an_error_of_the_checks_and_refused(
    use: Use,
) -> None:
    use(QUEUES=["default", "nowhere"])
    (error,) = task_backends["default"].check()
    assert error.id == "hubqueue.E031"
    assert "got 'nowhere'" in error.msg
    with pytest.raises(InvalidTask, match=r"none of HUBQUEUE\['QUEUES'\]"):
        functions.nothing.using(queue_name="nowhere")


def test_without_queues_of_its_own_an_entry_takes_those_of_hubqueue(use: Use) -> None:
    use(QUEUES=[])
    assert list(task_backends["default"].check()) == []
    assert functions.nothing.using(queue_name="mail").queue_name == "mail"
    with pytest.raises(InvalidTask):
        functions.nothing.using(queue_name="nowhere")


def test_a_missing_application_is_an_error_of_the_checks(use: Use, settings: Any) -> None:
    use()
    settings.INSTALLED_APPS = [each for each in settings.INSTALLED_APPS if each != "hubqueue"]
    assert [each.id for each in task_backends["default"].check()] == ["hubqueue.E032"]


@pytest.mark.parametrize(
    ("paths", "ours"),
    [
        ([OWN], True),
        ([f"{THEIRS}.backends.dummy.DummyBackend", OWN], True),
        (["tests.tasks.test_settings.Ours"], True),
        ([f"{THEIRS}.backends.dummy.DummyBackend"], False),
        (["nowhere.Backend"], False),
        (["tests.tasks.test_settings.Use"], False),
        ([], False),
    ],
)
def test_the_handlers_are_registered_where_a_setting_names_the_backend(
    paths: list[str], ours: bool
) -> None:
    assert names_ours({"BACKEND": path} for path in paths) is ours


def test_the_handlers_queue_is_one_that_exists() -> None:
    assert registry.find("tasks.run") is run.detached
    assert registry.find("tasks.run_transactional") is run.transactional
    assert (run.detached.detached, run.transactional.detached) == (True, False)
    assert run.detached.queue == "default"


def test_two_entries_run_side_by_side_each_in_its_manner(settings: Any) -> None:
    settings.TASKS = {
        "default": {"BACKEND": OWN},
        "exact": {"BACKEND": OWN, "OPTIONS": {"transactional": True}},
    }
    from hubqueue.models import Job
    from hubqueue.testing import run_due_jobs

    loose = functions.write.enqueue("loose")
    exact = functions.write.using(backend="exact").enqueue("exact")
    assert set(Job.objects.values_list("kind", flat=True)) == {
        "tasks.run",
        "tasks.run_transactional",
    }
    run_due_jobs()
    loose.refresh()
    exact.refresh()
    assert (loose.return_value, exact.return_value) == (False, True)
    assert (loose.backend, exact.backend) == ("default", "exact")
