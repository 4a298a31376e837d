"""Each verb is done by whoever holds its permission, by nobody else, and by no form of another site's."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from backups.admin import restore_verbs, run_verbs, targets
from backups.models import BackupRestore, BackupRun
from hubqueue.models import Operation
from hubqueue.querysets import database_now

pytestmark = pytest.mark.django_db
VIEWS = {"view_backuprun", "view_backuptarget", "view_backuprestore", "view_backupschedule"}
ASKED = {
    "confirmed": "1",
    "reason": "why",
    "until": "2999-01-01",
    "if_there": "skip",
    "tenant": "second",
    "typed": "acme",
}
PAGES = {
    **{word: ("backuprun", verb) for word, verb in run_verbs.VERBS.items()},
    "start": ("backuptarget", run_verbs.START),
    "test": ("backuptarget", targets.TEST),
    "stop": ("backuprestore", restore_verbs.CANCEL),
}


@pytest.fixture
def ask(made, target):
    """Post what a verb asks for; answers whether it was done, and the code of the answer."""

    def post(client, word):
        page, verb = PAGES[word]
        if word == "remove":
            row = made(archive="acme", findings=["backups.member_damaged"])
            answer = client.post(
                reverse("admin:backups_backuprun_verb", args=[row.pk, word]), ASKED
            )
            return LogEntry.objects.exists() or Operation.objects.exists(), answer.status_code
        running = made(BackupRun.State.RUNNING, days=2, tenant="acme", archive="running")
        whole = made(tenant="acme", pinned_until=database_now("default") + timedelta(days=1))
        if page == "backuprun":
            row = running if word == "cancel" else whole
            address, more = reverse("admin:backups_backuprun_verb", args=[row.pk, word]), {}
        elif page == "backuptarget":
            BackupRun.objects.filter(pk=running.pk).delete()
            address, more = reverse(f"admin:backups_backuptarget_{word}", args=[target.pk]), {}
        else:
            restore = BackupRestore.objects.create(run=whole, mode="inspect", tenant="acme")
            address, more = (
                reverse("admin:backups_backuprestore_verb", args=[restore.pk, "cancel"]),
                {},
            )
        answer = client.post(address, ASKED | more)
        return LogEntry.objects.exists() or Operation.objects.exists(), answer.status_code

    return post


def others(verb):
    names = Permission.objects.filter(content_type__app_label="backups")
    return set(names.values_list("codename", flat=True)) - {verb.permission.partition(".")[2]}


@pytest.mark.parametrize("word", PAGES)
def test_a_verb_is_not_done_by_who_holds_every_other_permission(officer, ask, word):
    done, _ = ask(officer(*others(PAGES[word][1])), word)
    assert not done


@pytest.mark.parametrize("word", PAGES)
def test_a_verb_is_done_by_who_may_look_and_holds_its_permission(officer, ask, word):
    done, _ = ask(officer(*VIEWS, PAGES[word][1].permission.partition(".")[2]), word)
    assert done


@pytest.mark.parametrize("word", PAGES)
def test_who_may_not_look_does_nothing_and_is_told_nothing(officer, ask, word):
    done, code = ask(officer(PAGES[word][1].permission.partition(".")[2]), word)
    assert (done, code) == (False, 403)


@pytest.mark.parametrize("word", PAGES)
def test_a_form_of_another_site_does_nothing(ask, admin_user, word):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert ask(client, word) == (False, 403)
