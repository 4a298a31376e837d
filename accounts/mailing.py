"""Send one mail that has no record, within a job of its own."""

from typing import Any

from django.contrib.auth import get_user_model
from django.views.decorators.debug import sensitive_variables

from hubqueue.api import Done, JobContext, Result
from notifications import mail
from notifications.addresses import sendable
from notifications.categories import Category, Subject
from notifications.errors import AddressUnsendable
from notifications.mail.answer import answer_to
from notifications.rendering import language_of, render


def active_person(person_id: str) -> Any | None:
    """The account as it is now; None when it is gone or closed."""
    return get_user_model()._default_manager.filter(pk=person_id, is_active=True).first()


@sensitive_variables()
def send(job: JobContext, category: Category, subject: Subject, *, person: Any, to: str) -> Result:
    """Send it to ``to`` in the person's language, and say what that means for the job.

    An address that no mail reaches is no failure of the job: trying again would change nothing.

    Each attempt has a Message-ID of its own: a mail server may take two of the same for one message and keep the
    first, whose link is dead since the second was minted.
    """
    try:
        address = sendable(to)
    except AddressUnsendable as unsendable:
        return Done(result=unsendable.code)
    rendered = render(category, subject, language=language_of(person))
    try:
        message = mail.compose(rendered, to=address, message_id=f"{job.id}.{job.claimed.fence}")
        mail.send(message)
    except mail.MailFault as fault:
        return answer_to(fault, job)
    return Done()
