"""Send one template's sample to the officer who asked, and to nobody else."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from hubqueue.api import Done, JobContext, Result, handler
from notifications import mail
from notifications.addresses import sendable
from notifications.categories import category
from notifications.decision import address_of
from notifications.errors import NotificationError
from notifications.mail.answer import MAIL, answer_to
from notifications.reasons import Reason
from notifications.rendering import render

SENT = "sent"


@handler("notifications.test_mail", **MAIL)
def mail_trial(
    job: JobContext, *, person_id: str, name: str, language: str, withheld: bool
) -> Result:
    """Send it. At least once. The result is ``SENT``, or a code that says why nothing was sent."""
    person = get_user_model()._default_manager.filter(pk=person_id, is_active=True).first()
    if person is None:
        return Done(Reason.LEFT.value)
    try:
        about = category(name)
        message = mail.compose(
            render(about, replace(about.sample(), withheld=withheld), language=language),
            to=sendable(address_of(person)),
            message_id=job.effect_key,
        )
        mail.send(message)
    except mail.MailFault as fault:
        return answer_to(fault, job)
    except NotificationError as refused:
        return Done(refused.code)
    return Done(SENT)


def ask_for_trial(person: Any, *, name: str, language: str, withheld: bool) -> UUID:
    """Queue it to the account's own address; asked for again while it waits, it is one. Answers the job's id.

    Raises ``AddressUnsendable`` at once, and ``CategoryUnknown``.
    """
    sendable(address_of(person))
    category(name)
    key = f"{person.pk} {name} {language} {withheld}"
    job = mail_trial.using(dedupe_key=key[:200]).enqueue(
        person_id=str(person.pk), name=name, language=language, withheld=withheld
    )
    return job.id
