"""Invitations: account, record and mail are one commit; the link is made when the mail goes out."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext, override

from accounts.categories import INVITATION
from accounts.credentials import mint
from accounts.errors import AccountExists, InvitationAccepted, LinkSpent
from accounts.models import Credential, Invitation
from accounts.services import (
    forgot_password,
    invite,
    invite_again,
    look_at_link,
    request_address_change,
    set_password,
)
from hubqueue.models import Job
from hubqueue.testing import move_clock, run_due_jobs
from notifications.errors import AddressUnsendable, PreferenceRefused
from notifications.models import Notification
from notifications.rendering import render
from tests.accounts.conftest import NEW, mails_to, person, run_all, text_of, token_in
from tests.accounts.scan import tables_with
from tests.support.mail import DROP

pytestmark = pytest.mark.django_db
People = get_user_model().objects


@pytest.fixture
def officer(client):
    made = person("officer", is_staff=True)
    made.user_permissions.add(Permission.objects.get(codename="invite_person"))
    client.force_login(made)
    return made


def test_whoever_is_invited_gets_a_mail_in_their_language_and_chooses_a_password(smtp):
    made = invite("bo@example.org", first_name="Bo", last_name="B", language="de")
    assert not made.person.has_usable_password()
    assert not made.person.is_staff
    run_all()
    (mail,) = smtp.mails
    with override("de"):
        invited, changed = (
            gettext("You are invited"),
            gettext("A way into your account was changed"),
        )
    assert mail.message["Subject"] == invited != "You are invited"
    assert "/accounts/welcome/#" in text_of(mail)
    set_password(token_in(mail), NEW)
    bo = People.get(username="bo@example.org")
    assert bo.check_password(NEW)
    assert Invitation.objects.get().accepted_at is not None
    run_all()
    assert [each.message["Subject"] for each in smtp.mails][1:] == [changed]


def test_what_is_rolled_back_leaves_neither_account_nor_record_nor_mail():
    class Undone(Exception):
        pass

    with pytest.raises(Undone), transaction.atomic():
        invite("bo@example.org")
        raise Undone
    for rows in (People, Invitation.objects, Notification.objects, Job.objects):
        assert not rows.exists()


def test_whoever_left_meanwhile_gets_nothing(smtp):
    People.filter(pk=invite("bo@example.org").person_id).update(is_active=False)
    run_all()
    assert smtp.mails == []
    assert not Notification.objects.exists()


def test_whoever_left_before_the_delivery_gets_nothing(smtp):
    person_id = invite("bo@example.org").person_id
    run_due_jobs(kinds=["accounts.invitation"], raise_failures=True)
    People.filter(pk=person_id).update(is_active=False)
    run_all()
    assert smtp.mails == []
    assert Notification.objects.get().reason == "left"


def test_an_invitation_that_was_accepted_meanwhile_is_not_sent(smtp):
    made = invite("bo@example.org")
    set_password(mint(made.person_id, Credential.Purpose.INVITATION), NEW)
    run_due_jobs()
    assert [each.message["Subject"] for each in smtp.mails] == [
        "A way into your account was changed"
    ]
    with pytest.raises(InvitationAccepted):
        invite_again(made.pk)


def test_sent_again_the_newest_link_is_the_one_that_works(smtp):
    made = invite("bo@example.org")
    run_all()
    invite_again(made.pk)
    look_at_link(token_in(smtp.mails[0]))
    run_all()
    with pytest.raises(LinkSpent):
        look_at_link(token_in(smtp.mails[0]))
    look_at_link(token_in(smtp.mails[1]))
    assert Invitation.objects.get().sent == Notification.objects.filter(state="sent").count() == 2


def test_a_repeated_attempt_mints_anew_under_another_message_id(smtp):
    invite("bo@example.org")
    smtp.answers["END"] = [DROP, None]
    assert [each.code for each in run_due_jobs().failures] == ["mail.unanswered"]
    with move_clock(timedelta(minutes=2)):
        run_all()
    first, second = smtp.mails
    assert first.message["Message-ID"] != second.message["Message-ID"]
    with pytest.raises(LinkSpent):
        look_at_link(token_in(first))
    look_at_link(token_in(second))


def test_a_preview_and_a_decision_mint_nothing(smtp):
    invite("bo@example.org")
    run_due_jobs(kinds=["accounts.invitation"], raise_failures=True)
    record = Notification.objects.get()
    shown = render(INVITATION, INVITATION.sample(), language="en")
    assert "#sample" in shown.text
    assert INVITATION.describe(record).path.endswith("#")
    assert not Credential.objects.exists()


def test_an_invitation_that_came_too_late_is_made_good_by_the_page_for_forgotten_passwords(smtp):
    invite("bo@example.org")
    forgot_password("bo@example.org", "")
    run_all()
    token = next(token_in(m) for m in smtp.mails if m.message["Subject"] == "Set a new password")
    set_password(token, NEW)
    assert Invitation.objects.get().accepted_at is not None


def test_nobody_is_invited_twice():
    invite("bo@example.org")
    with pytest.raises(AccountExists):
        invite("BO@example.org")
    person("cy")
    with pytest.raises(AccountExists):
        invite("cy@example.org")
    with pytest.raises(AddressUnsendable):
        invite("\u00fcser@example.org")
    with pytest.raises(PreferenceRefused):
        invite("di@example.org", language="xx")
    assert Invitation.objects.count() == 1


def test_an_officer_invites_sees_it_open_and_sends_again(officer, client, smtp):
    page = reverse("admin:accounts_invitation_changelist")
    said = {"first_name": "Bo", "last_name": "B", "address": "bo@example.org", "language": "de"}
    answer = client.post(reverse("admin:accounts_invite"), said, follow=True).content.decode()
    assert "Invited: the mail is on its way." in answer
    assert "bo@example.org" in answer
    assert "Queued" in answer
    run_all()
    shown = client.get(page + "?standing=open").content.decode()
    assert "Sent" in shown
    assert token_in(smtp.mails[0]) not in shown
    row = Invitation.objects.get()
    asked = {"action": "send_again", "_selected_action": [row.pk]}
    assert "Why?" in client.post(page, asked).content.decode()
    done = client.post(page, {**asked, "confirmed": "1", "reason": "lost"}, follow=True)
    assert "another mail is on its way" in done.content.decode()
    run_all()
    assert len(mails_to(smtp, "bo@example.org")) == 2
    assert Notification.objects.filter(actor=officer).count() == 2
    refused = client.post(reverse("admin:accounts_invite"), said).content.decode()
    assert "There is an account with this address already." in refused
    page_of_one = client.get(reverse("admin:accounts_invitation_change", args=[row.pk]))
    assert page_of_one.status_code == 200


def test_without_the_permission_nobody_is_invited_and_nothing_is_seen(client):
    client.force_login(person("staff", is_staff=True))
    page = reverse("admin:accounts_invitation_changelist")
    for address in (page, reverse("admin:accounts_invite")):
        assert client.get(address).status_code == 403
    assert (
        client.post(reverse("admin:accounts_invite"), {"address": "a@example.org"}).status_code
        == 403
    )
    assert "nvitation" not in client.get(reverse("admin:index")).content.decode()
    assert not Invitation.objects.exists()


def test_many_invitations_are_listed_with_as_many_statements_as_one(
    officer, client, django_assert_max_num_queries
):
    for number in range(5):
        invite(f"p{number}@example.org", by=officer)
    with django_assert_max_num_queries(12):
        client.get(reverse("admin:accounts_invitation_changelist"))


def test_an_account_is_deleted_with_all_that_belongs_to_it_and_nothing_of_that_by_itself(client):
    client.force_login(person("root", is_staff=True, is_superuser=True))
    made = invite("bo@example.org")
    mint(made.person_id, Credential.Purpose.INVITATION)
    request_address_change(made.person, "new@example.org")
    run_due_jobs(kinds=["accounts.invitation"], raise_failures=True)
    for row in (made, Notification.objects.get()):
        name = f"admin:{row._meta.app_label}_{row._meta.model_name}_delete"
        assert client.post(reverse(name, args=[row.pk]), {"post": "yes"}).status_code == 403
    client.post(reverse("admin:auth_user_delete", args=[made.person_id]), {"post": "yes"})
    assert not People.filter(pk=made.person_id).exists()
    assert not Notification.objects.exists()
    assert tables_with("new@example.org") == set()


def test_an_address_that_is_corrected_while_the_link_is_minted_gets_the_mail(smtp, monkeypatch):
    made = invite("wrong@example.org")

    def minted(person_id, *args, **kwargs):
        People.filter(pk=person_id).update(email="right@example.org")
        return mint(person_id, *args, **kwargs)

    monkeypatch.setattr("accounts.credentials.mint", minted)
    run_all()
    assert smtp.recipients == ["right@example.org"]
    set_password(token_in(smtp.mails[0]), NEW)
    assert Invitation.objects.get(pk=made.pk).accepted_at is not None


def test_a_password_that_an_officer_sets_ends_the_invitation(smtp):
    """Else taking that password away would leave the way in by a forgotten one."""
    made = invite("bo@example.org")
    made.person.set_password(NEW)
    made.person.save()
    with pytest.raises(InvitationAccepted):
        invite_again(made.pk)
    made.person.set_unusable_password()
    made.person.save()
    forgot_password("bo@example.org", "")
    run_due_jobs(kinds=["accounts.password_reset_request", "accounts.password_reset"])
    assert smtp.mails == []
