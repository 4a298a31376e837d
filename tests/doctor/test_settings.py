"""What the settings themselves contradict, seen without a database."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import override_settings

from hubqueue.doctor import Severity, settings
from tests.doctor.conftest import found_by, hubqueue_settings

BACKEND = "hubqueue.backend.HubQueueBackend"


def test_the_settings_of_this_project_are_well() -> None:
    assert not found_by(settings.look)


def test_what_the_checks_refuse_is_an_error() -> None:
    with hubqueue_settings(RENEW_EVERY=timedelta(seconds=20)):
        said = found_by(settings.look)["hubqueue.E001"]
    assert said.severity is Severity.ERROR
    assert "RENEW_EVERY" in said.found


def test_settings_that_cannot_be_read_are_a_finding_and_no_crash() -> None:
    with hubqueue_settings(LEASSE=1):
        assert "LEASSE" in found_by(settings.look)["hubqueue.E000"].found


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"BACKEND": BACKEND, "QUEUES": ["nowhere"]}, "hubqueue.E031"),
        ({"BACKEND": BACKEND, "QUEUES": ["default"], "OPTIONS": {"x": 1}}, "hubqueue.E030"),
        ({"BACKEND": "hubqueue.backend.NoSuchBackend"}, "hubqueue.E030"),
        ({"BACKEND": BACKEND, "QUEUES": ["default"]}, None),
        ({"BACKEND": "django_tasks.backends.dummy.DummyBackend"}, None),
    ],
)
def test_a_backend_that_cannot_work_is_an_error(entry: dict[str, Any], code: str | None) -> None:
    with override_settings(TASKS={"default": entry}):
        assert list(found_by(settings.look)) == ([code] if code else [])


def test_what_is_unwise_in_production_is_a_warning() -> None:
    with override_settings(DEBUG=True), hubqueue_settings(STORE_ERROR_MESSAGES=True):
        found = found_by(settings.look)
    assert {code: each.severity for code, each in found.items()} == {
        "debug": Severity.WARNING,
        "error_messages_stored": Severity.WARNING,
    }


@pytest.mark.parametrize(
    ("entry", "codes"),
    [
        ({"AUTOCOMMIT": False}, ["autocommit"]),
        ({"OPTIONS": {"pool": {"max_size": 6}}, "CONN_MAX_AGE": 0}, ["pool"]),
        ({"OPTIONS": {"pool": True}, "CONN_MAX_AGE": 0}, ["pool"]),
        ({"OPTIONS": {"pool": {"max_size": 11}}, "CONN_MAX_AGE": 0}, []),
        ({"OPTIONS": {"pool": {"max_size": 11}}, "CONN_MAX_AGE": 60}, ["pool"]),
    ],
)
def test_an_entry_of_databases_that_cannot_work_is_an_error(
    entry: dict[str, Any], codes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in entry.items():
        monkeypatch.setitem(connections["default"].settings_dict, key, value)
    assert list(found_by(settings.look)) == codes
