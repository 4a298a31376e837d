"""A new address: asked for confirmation at the new one, told of at the old one."""

from uuid import UUID

from django.views.decorators.debug import sensitive_variables

from accounts import categories, credentials, mailing
from accounts.models import AddressChange, Credential, FormerAddress
from hubqueue.api import Done, JobContext, Result, handler
from notifications.mail.answer import MAIL


@handler("accounts.address_confirmation", **MAIL)
@sensitive_variables()
def address_confirmation(job: JobContext, *, person: str) -> Result:
    """Mail a link to the address that the person wants, if they still want one.

    Detached: no transaction stays open while a mail server thinks. The token is minted here, for every attempt
    anew. Retried as all mail is. Dedupe key: the person, whose newest wish is the one that counts.
    """
    account = mailing.active_person(person)
    if account is None:
        return Done()
    with job.transaction():
        credentials.locked(account.pk)  # a new password ends the wish, and takes the same lock
        change = AddressChange.objects.filter(pk=account.pk).first()
        if change is None:
            return Done()
        token = credentials.mint(account.pk, Credential.Purpose.ADDRESS, address=change.address)
    subject = categories.address_confirmation(token)
    return mailing.send(
        job, categories.ADDRESS_CONFIRMATION, subject, person=account, to=change.address
    )


@handler("accounts.address_left", **MAIL)
@sensitive_variables()
def address_left(job: JobContext, *, former: UUID) -> Result:
    """Tell the address an account had that it has another one now: whoever took the account over is seen there.

    Detached: no transaction stays open while a mail server thinks. It carries no credential. Retried as all mail
    is; the row with the address is gone once it was sent. Dedupe key: that row.
    """
    row = FormerAddress.objects.select_related("person").filter(pk=former).first()
    if row is None or not row.person.is_active:
        return Done()
    answer = mailing.send(
        job, categories.ADDRESS_LEFT, categories.address_left(), person=row.person, to=row.address
    )
    if isinstance(answer, Done):
        return Done(answer.result, record=FormerAddress.objects.filter(pk=former).delete)
    return answer
