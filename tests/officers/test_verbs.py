"""The officers' verbs in the admin: who may, what is asked, what is answered."""

import re
from uuid import UUID, uuid4

import pytest
from django.contrib.messages import get_messages

from hubqueue.ids import uuid7
from hubqueue.models import Job, Operation
from hubqueue.states import State
from tests.officers.conftest import MakeJob, Officer, state_of

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/hubqueue/job/"
FITS = {
    "park": (State.READY, State.PARKED),
    "release": (State.PARKED, State.READY),
    "run_now": (State.PARKED, State.READY),
    "cancel": (State.READY, State.CANCELLED),
    "redrive": (State.DEAD, State.READY),
    "dismiss": (State.DEAD, State.CANCELLED),
}


def page(job_id: UUID, verb: str = "change") -> str:
    return f"{LIST}{job_id}/{verb}/"


@pytest.mark.parametrize("verb", FITS)
def test_a_verb_asks_why_and_leaves_an_entry(
    verb: str, officer: Officer, make_job: MakeJob
) -> None:
    before, after = FITS[verb]
    job = make_job(before)
    client = officer("view_job", f"{verb}_job")

    asked = client.get(page(job.pk, verb))
    assert "Why?" in asked.content.decode()
    assert state_of(job.pk) == before

    client.post(page(job.pk, verb), {"reason": "because"})
    assert state_of(job.pk) == after
    entry = Operation.objects.get(job_id=job.pk)
    assert (entry.actor, entry.reason) == (client.user.get_username(), "because")


@pytest.mark.parametrize("verb", FITS)
@pytest.mark.parametrize("held", FITS)
def test_each_verb_needs_its_own_permission(
    verb: str, held: str, officer: Officer, make_job: MakeJob
) -> None:
    if verb == held:
        return
    before, _ = FITS[verb]
    job = make_job(before)
    client = officer("view_job", f"{held}_job")

    assert client.get(page(job.pk, verb)).status_code == 403
    assert client.post(page(job.pk, verb), {"reason": "because"}).status_code == 403
    bulk = {
        "action": verb,
        "_selected_action": [str(job.pk)],
        "confirmed": "1",
        "reason": "because",
    }
    client.post(LIST, bulk)
    assert state_of(job.pk) == before
    assert not Operation.objects.exists()


def test_a_verb_without_the_permission_to_view_is_refused(
    officer: Officer, make_job: MakeJob
) -> None:
    job = make_job()
    client = officer("park_job")

    assert client.post(page(job.pk, "park"), {"reason": "because"}).status_code == 403
    assert client.get(LIST).status_code == 403
    assert client.get(page(job.pk)).status_code == 403


def test_a_verb_without_a_token_of_the_form_is_refused(officer: Officer, make_job: MakeJob) -> None:
    job = make_job()
    client = officer("view_job", "park_job", enforce_csrf=True)

    assert client.post(page(job.pk, "park"), {"reason": "because"}).status_code == 403
    bulk = {"action": "park", "_selected_action": [str(job.pk)], "confirmed": "1", "reason": "x"}
    assert client.post(LIST, bulk).status_code == 403
    assert state_of(job.pk) == State.READY


@pytest.mark.parametrize("reason", ["", "   ", "x" * 201, "a\x00b"])
def test_a_reason_that_says_nothing_is_asked_for_again(
    reason: str, officer: Officer, make_job: MakeJob
) -> None:
    job = make_job()
    answer = officer("view_job", "park_job").post(page(job.pk, "park"), {"reason": reason})

    assert answer.status_code == 200
    assert "errornote" in answer.content.decode()
    assert state_of(job.pk) == State.READY


def test_a_refusal_is_shown_in_words(officer: Officer, make_job: MakeJob) -> None:
    job = make_job(State.SUCCEEDED)
    answer = officer("view_job", "park_job").post(page(job.pk, "park"), {"reason": "because"})

    (message,) = get_messages(answer.wsgi_request)
    assert "cannot park a job that is SUCCEEDED" in str(message)
    assert "wrong_state" in str(message)


def test_a_running_job_is_asked_to_stop(officer: Officer, make_job: MakeJob) -> None:
    job = make_job(State.RUNNING)
    client = officer("view_job", "cancel_job")
    answer = client.post(page(job.pk, "cancel"), {"reason": "because"})

    (message,) = get_messages(answer.wsgi_request)
    assert "asked to stop" in str(message)
    assert "Asked to stop" in client.get(page(job.pk)).content.decode()


def test_only_fitting_verbs_are_offered(officer: Officer, make_job: MakeJob) -> None:
    client = officer("view_job", *(f"{verb}_job" for verb in FITS))

    def offered(job: Job) -> set[str]:
        text = client.get(page(job.pk)).content.decode()
        return set(re.findall(rf"/job/{job.pk}/(\w+)/", text)) - {"change"}

    assert offered(make_job(State.READY)) == {"park", "cancel", "run_now"}
    assert offered(make_job(State.PARKED)) == {"release", "cancel", "run_now"}
    assert offered(make_job(State.DEAD)) == {"redrive", "dismiss"}
    assert offered(make_job(State.SUCCEEDED)) == set()


def test_many_rows_are_answered_one_by_one(officer: Officer, make_job: MakeJob) -> None:
    fits, does_not = make_job(), make_job(State.SUCCEEDED)
    client = officer("view_job", "park_job")
    chosen = {"action": "park", "_selected_action": [str(fits.pk), str(does_not.pk)]}

    asked = client.post(LIST, {**chosen, "index": "0"}).content.decode()
    assert "Why?" in asked
    assert str(fits.pk) in asked
    assert state_of(fits.pk) == State.READY

    answer = client.post(LIST, {**chosen, "confirmed": "1", "reason": "because"}).content.decode()
    assert "1 done" in answer
    assert "1 refused" in answer
    assert "cannot park a job that is SUCCEEDED" in answer
    assert state_of(fits.pk) == State.PARKED


def test_all_dead_letters_of_a_filter_are_redriven_and_no_others(
    officer: Officer, make_job: MakeJob
) -> None:
    chosen = [make_job(State.DEAD, error_code="refused") for _ in range(120)]
    spared = make_job(State.DEAD, error_code="other")
    client = officer("view_job", "redrive_job")
    everything = {
        "action": "redrive",
        "_selected_action": [str(chosen[-1].pk)],
        "select_across": "1",
    }
    address = f"{LIST}?state=DEAD&code=refused"

    asked = client.post(address, {**everything, "index": "0"}).content.decode()
    assert "All 120 matching jobs" in asked
    answer = client.post(address, {**everything, "confirmed": "1", "reason": "fixed"})
    assert "120 done" in answer.content.decode()
    assert Job.objects.ready().count() == 120
    assert state_of(spared.pk) == State.DEAD


def test_of_two_dead_letters_with_one_key_the_newest_is_redriven(
    officer: Officer, make_job: MakeJob
) -> None:
    older, newer = (make_job(State.DEAD, dedupe_key="key") for _ in range(2))
    everything = {
        "action": "redrive",
        "_selected_action": [str(older.pk)],
        "select_across": "1",
        "confirmed": "1",
        "reason": "fixed",
    }
    answer = officer("view_job", "redrive_job").post(f"{LIST}?state=DEAD", everything)

    assert f"superseded by {newer.pk}" in answer.content.decode()
    assert (state_of(older.pk), state_of(newer.pk)) == (State.DEAD, State.READY)


def test_everything_is_taken_only_of_states_an_index_can_walk(
    officer: Officer, make_job: MakeJob
) -> None:
    job = make_job()
    everything = {
        "action": "cancel",
        "_selected_action": [str(job.pk)],
        "select_across": "1",
        "confirmed": "1",
        "reason": "all of them",
    }
    officer("view_job", "cancel_job").post(LIST, everything)

    assert state_of(job.pk) == State.READY


def test_when_time_is_up_the_rest_can_be_gone_on_with(
    officer: Officer, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [make_job(State.DEAD) for _ in range(3)]
    # What is set is the default of a parameter, so the function itself is told to have no time.
    from hubqueue.admin import jobs as pages
    from hubqueue.admin.verbs import do

    def hurried(*args: object, **kwargs: object) -> object:
        from datetime import timedelta

        return do(*args, **kwargs, time_left=timedelta(0))  # type: ignore[arg-type]

    monkeypatch.setattr(pages, "do", hurried)
    client = officer("view_job", "dismiss_job")
    form = {
        "action": "dismiss",
        "_selected_action": [str(jobs[-1].pk)],
        "select_across": "1",
        "confirmed": "1",
        "reason": "old",
    }
    answer = client.post(f"{LIST}?state=DEAD", form)
    assert "1 done" in answer.content.decode()
    assert [state_of(job.pk) for job in jobs] == [State.DEAD, State.DEAD, State.CANCELLED]

    again = re.search(r'name="before" value="([^"]+)"', answer.content.decode())
    assert again is not None
    client.post(f"{LIST}?state=DEAD", {**form, "before": again[1]})
    assert [state_of(job.pk) for job in jobs] == [State.DEAD, State.CANCELLED, State.CANCELLED]


@pytest.mark.parametrize("verb", ["steal", "delete", "history", "add"])
def test_an_unknown_verb_is_not_found(verb: str, officer: Officer, make_job: MakeJob) -> None:
    client = officer("view_job", "park_job")
    assert client.get(page(make_job().pk, verb)).status_code == 404


def test_an_unknown_job_is_not_found(officer: Officer) -> None:
    client = officer("view_job", "park_job")
    assert client.get(page(uuid7())).status_code == 404
    assert client.get(page(uuid4(), "park")).status_code == 404
    assert client.get(f"{LIST}not-an-id/change/").status_code == 404


@pytest.mark.parametrize("method", ["put", "patch", "delete", "options", "trace"])
def test_other_methods_are_not_allowed(method: str, officer: Officer, make_job: MakeJob) -> None:
    job = make_job()
    client = officer("view_job", "park_job")

    assert getattr(client, method)(page(job.pk, "park")).status_code == 405
    assert getattr(client, method)(page(job.pk)).status_code == 405
    assert client.post(page(job.pk)).status_code == 405
    assert state_of(job.pk) == State.READY


def test_a_superuser_is_offered_no_form_that_writes_rows(make_job: MakeJob, admin_client) -> None:
    job = make_job()
    text = admin_client.get(LIST).content.decode()

    assert "delete_selected" not in text
    assert "/job/add/" not in text
    assert admin_client.get(f"{LIST}add/").status_code == 404
    assert admin_client.post(f"{LIST}{job.pk}/delete/", {"post": "yes"}).status_code == 404
    for model in ("worker", "leader", "duty", "periodictick", "operation"):
        assert admin_client.get(f"/admin/hubqueue/{model}/add/").status_code == 403
    assert Job.objects.filter(pk=job.pk).exists()
