"""A forgotten password: from the address somebody typed to a mail for each account that has it."""

from typing import Any

from django.contrib.auth import get_user_model
from django.views.decorators.debug import sensitive_variables

from accounts import categories, credentials, mailing
from accounts.hashes import normalised
from accounts.models import AddressRequest, Credential, Invitation
from hubqueue.api import Done, JobContext, Result, handler
from notifications.decision import address_of
from notifications.mail.answer import MAIL


@handler("accounts.password_reset", **MAIL)
@sensitive_variables()
def password_reset(job: JobContext, *, person: str) -> Result:
    """Mail a link to set a new password to the address of the account.

    Detached: no transaction stays open while a mail server thinks. The token is minted here, for every attempt
    anew, so neither the job nor anything else holds one; a repeated attempt makes the earlier mail's link dead.
    Retried as all mail is, for a day. Dedupe key: the person, so that several asks at once are one mail.
    """
    account = mailing.active_person(person)
    if account is None or not _with_password([account]):
        return Done()
    with job.transaction():
        token = credentials.mint(account.pk, Credential.Purpose.RESET)
        account.refresh_from_db()  # the link is one of the account as it is now, and so is the address
    subject = categories.password_reset(token)
    return mailing.send(
        job, categories.PASSWORD_RESET, subject, person=account, to=address_of(account)
    )


@handler("accounts.password_reset_request")
@sensitive_variables()
def password_reset_request(job: JobContext, *, request: str) -> Result:
    """Find the accounts of an address and queue a mail for each; none is found for most, and that is no error.

    Transactional: the row with the address goes in the commit that queues the mails. Only the database can fail
    here, so the usual policy holds. Dedupe key: the row's key, a keyed hash of the address, so that a flood for
    one address is one job.
    """
    row = AddressRequest.objects.select_for_update().filter(pk=request).first()
    if row is None:
        return Done()
    address = row.address
    row.delete()
    password_reset.enqueue_many(
        password_reset.using(dedupe_key=str(person.pk)).item(person=str(person.pk))
        for person in _people_with(address)
    )
    return Done()


def _people_with(address: str) -> list[Any]:
    """The open accounts of this address that log in with a password, or were invited to.

    One whose password somebody made unusable on purpose gets no new one this way. PostgreSQL takes letters for
    the same that are none (a dotless i), hence the second look.
    """
    people = get_user_model()
    field = people.get_email_field_name()
    found = people._default_manager.filter(is_active=True, **{f"{field}__iexact": address})
    return _with_password(
        [each for each in found if normalised(address_of(each)) == normalised(address)]
    )


def _with_password(people: list[Any]) -> list[Any]:
    open_ones = Invitation.objects.open().filter(person__in=people)
    invited = set(open_ones.values_list("person", flat=True))
    return [each for each in people if each.has_usable_password() or each.pk in invited]
