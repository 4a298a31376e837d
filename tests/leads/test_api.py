"""The lead requests over HTTP: for staff who may see them, to read, in bounded pages."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User

from leads.models import LeadRequest
from tests.leads.made import make_event

pytestmark = pytest.mark.django_db
LIST = "/api/lead-requests/"


@pytest.fixture
def officer(client):
    user = User.objects.create_user("officer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_leadrequest"))
    client.force_login(user)
    return client


def make_request(**fields):
    return LeadRequest.objects.create(event=make_event(), **fields)


def test_nobody_and_people_without_the_permission_are_refused(client):
    request = make_request()
    for path in (LIST, f"{LIST}{request.pk}/"):
        answer = client.get(path)
        assert (answer.status_code, answer.json()) == (401, {"error": "not_authenticated"})
    for user in (User.objects.create_user("a", is_staff=True), User.objects.create_superuser("b")):
        user.is_staff = user.username == "a"
        user.save()
        client.force_login(user)
        answer = client.get(LIST)
        assert (answer.status_code, answer.json()) == (403, {"error": "not_permitted"})


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_every_write_is_refused(officer, method):
    request = make_request()
    for path in (LIST, f"{LIST}{request.pk}/"):
        answer = getattr(officer, method)(path)
        assert answer.status_code == 405
        assert answer.headers["Allow"] == "GET, HEAD"
        assert "error" in answer.json()


def test_one_request_is_shown_with_how_it_stands(officer):
    request = make_request(error_detail="leads.sink_refused: no", failures=2)
    request.event.arms.create(trigger="created")
    said = officer.get(f"{LIST}{request.pk}/").json()
    assert said["event"]["code"] == request.event.code
    assert (said["armed"], said["done"], said["failures"]) == (True, False, 2)
    assert said["error_detail"] == "leads.sink_refused: no"
    assert "lease_token" not in said
    assert officer.get(f"{LIST}{uuid4()}/").status_code == 404


def test_pages_are_bounded_and_follow_each_other(officer, django_assert_max_num_queries):
    made = [make_request() for _ in range(7)]
    seen, url = [], f"{LIST}?limit=3"
    while url:
        with django_assert_max_num_queries(6):
            page = officer.get(url).json()
        assert len(page["results"]) <= 3
        seen += [each["id"] for each in page["results"]]
        url = page["next"]
    assert seen == sorted(str(each.pk) for each in made)


def test_filters_choose(officer):
    done = make_request(done=True)
    failed = make_request(error_detail="leads.failed: ValueError")
    parked = make_request(parked_at="2026-01-01T00:00:00Z")

    def found(query):
        return {each["id"] for each in officer.get(f"{LIST}?{query}").json()["results"]}

    assert found("done=true") == {str(done.pk)}
    assert found("done=false") == {str(failed.pk), str(parked.pk)}
    assert found("error=true") == {str(failed.pk)}
    assert found("error=false&done=false") == {str(parked.pk)}
    assert found("parked=true") == {str(parked.pk)}
    assert found(f"event={failed.event_id}") == {str(failed.pk)}


@pytest.mark.parametrize(
    "query", ["done=yes", "event=1", "after=x", "limit=0", "limit=201", "limit=-1", "limit=x", "limit=٣", "error=", "limit=" + "9" * 400]  # noqa: E501
)  # fmt: skip
def test_a_parameter_that_cannot_be_used_is_named(officer, query):
    answer = officer.get(f"{LIST}?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"] == "bad_parameter"
