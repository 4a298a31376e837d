"""A job as JSON: who may read it, and how everything else is refused."""

import pytest
from django.test import Client

from hubqueue.models import Failure
from hubqueue.querysets import database_now
from tests.officers.conftest import MakeJob, Officer

pytestmark = pytest.mark.django_db
NOBODY = "01a22a41-5a3a-7dcc-b2d8-ba3d05648a4d"


def test_without_a_session_it_asks_for_one(make_job: MakeJob, client: Client) -> None:
    answer = client.get(f"/api/jobs/{make_job().pk}/")
    assert answer.status_code == 401
    assert answer.json() == {"error": "not_authenticated"}
    assert answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize(
    ("permissions", "staff"), [((), True), (("park_job",), True), (("view_job",), False)]
)
def test_without_the_permission_it_refuses(
    permissions: tuple[str, ...], staff: bool, officer: Officer, make_job: MakeJob
) -> None:
    answer = officer(*permissions, staff=staff).get(f"/api/jobs/{make_job().pk}/")
    assert answer.status_code == 403
    assert answer.json() == {"error": "not_permitted"}


@pytest.mark.parametrize("job_id", ["x", "1", "%00", "'", "0" * 32, "{}", NOBODY])
def test_what_is_no_job_is_not_found(job_id: str, officer: Officer) -> None:
    answer = officer("view_job").get(f"/api/jobs/{job_id}/")
    assert answer.status_code == 404
    assert answer.json() == {"error": "no_such_job"}


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options", "trace"])
def test_it_only_reads(method: str, officer: Officer, make_job: MakeJob) -> None:
    answer = getattr(officer("view_job"), method)(f"/api/jobs/{make_job().pk}/")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_it_is_never_cached_and_never_sniffed(officer: Officer, make_job: MakeJob) -> None:
    client = officer("view_job")
    for answer in (
        client.get(f"/api/jobs/{make_job().pk}/"),
        client.head(f"/api/jobs/{make_job().pk}/"),
        client.get("/api/jobs/x/"),
    ):
        assert "no-store" in answer.headers["Cache-Control"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Type"] == "application/json"


def test_failures_come_without_their_message(officer: Officer, make_job: MakeJob) -> None:
    job = make_job()
    Failure.objects.create(
        job=job, attempt=1, code="refused", message="secret", failed_at=database_now("default")
    )
    answer = officer("view_job", "view_job_payload").get(f"/api/jobs/{job.pk}/")
    assert answer.json()["failures"][0]["code"] == "refused"
    assert "secret" not in answer.content.decode()
