"""Jobs in every state, and officers with exactly the permissions a test gives them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from hubqueue.models import Job, Worker
from hubqueue.querysets import database_now
from hubqueue.states import FINISHED, State
from tests.support import handlers

KIND = handlers.typed.kind

MakeJob = Callable[..., Job]
Officer = Callable[..., Client]


@pytest.fixture
def make_job(db: None) -> MakeJob:
    """Write a row as it would stand: `make_job(State.DEAD, tenant_id="t")`."""
    now = database_now("default")

    def make(state: State = State.READY, **values: Any) -> Job:
        defaults: dict[str, Any] = {
            "kind": KIND,
            "queue": "default",
            "max_attempts": 3,
            "run_at": now,
            "created_at": now,
            "payload": {"text": "hello"},
        }
        if state in FINISHED:
            defaults["finished_at"] = now
        if state == State.RUNNING:
            defaults |= {"claimed_by": uuid4(), "claimed_at": now, "attempts": 1, "fence": 1}
        return Job.objects.create(state=state, **(defaults | values))

    return make


@pytest.fixture
def make_worker(db: None) -> Callable[..., Worker]:
    """A worker's row, alive for a minute unless `lease` says otherwise."""

    def make(lease: timedelta = timedelta(minutes=1), **values: Any) -> Worker:
        now = database_now("default")
        defaults = {
            "id": uuid4(),
            "host": "machine",
            "pid": 4711,
            "queues": ["default"],
            "kinds": [KIND],
            "started_at": now,
            "lease_until": now + lease,
        }
        return Worker.objects.create(**(defaults | values))

    return make


@pytest.fixture
def officer(db: None) -> Officer:
    """A logged-in member of staff with the permissions named: `officer("view_job", "park_job")`."""

    def log_in(*permissions: str, staff: bool = True, enforce_csrf: bool = False) -> Client:
        user = User.objects.create_user(f"officer-{uuid4()}", is_staff=staff)
        found = Permission.objects.filter(
            content_type__app_label="hubqueue", codename__in=permissions
        )
        assert len(found) == len(permissions)
        user.user_permissions.set(found)
        client = Client(enforce_csrf_checks=enforce_csrf)
        client.force_login(user)
        client.user = user  # type: ignore[attr-defined]
        return client

    return log_in


def state_of(job_id: UUID) -> State:
    """Where the row stands now."""
    return State(Job.objects.values_list("state", flat=True).get(pk=job_id))
