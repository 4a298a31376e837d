"""Step two: the job that sends one recorded message."""

from dataclasses import dataclass
from email.message import EmailMessage
from functools import partial
from uuid import UUID

from hubqueue.api import Done, JobContext, MoveRefused, Result, handler
from hubqueue.models import Job
from hubqueue.states import State as JobState
from notifications import mail, moves
from notifications.categories import Category, Subject, category
from notifications.conf import conf
from notifications.decision import Refusal, address_of, decide, wishes_of
from notifications.errors import CategoryUnknown, RecordGone
from notifications.mail.answer import MAIL, answer_to
from notifications.models import Notification
from notifications.reasons import Reason
from notifications.rendering import language_of, render
from notifications.unsubscribe import unsubscribe_headers, unsubscribe_url

State = Notification.State
WORDS = {
    State.SENT: "sent already",
    State.SUPPRESSED: "held back on purpose",
    State.HELD: "on hold after a restore, where it is released or dropped",
}
FINAL: dict[type[mail.MailFault], Reason] = {
    mail.AddressRefused: Reason.ADDRESS_REFUSED,
    mail.MessageRefused: Reason.MESSAGE_REFUSED,
}


@handler("notifications.deliver", **MAIL)
def deliver(job: JobContext, *, notification_id: UUID) -> Result:
    """Send one message, if it is still to be sent. At least once, or at most once where an officer decides.

    An attempt that died between the data and the completion leaves ``sending_since``: whoever finds it calls
    the record uncertain, and sends again under the same Message-ID unless settings say otherwise.
    """
    waiting = Notification.objects.undelivered().select_related("recipient__reader")
    record = waiting.filter(pk=notification_id).first()
    if record is None:
        return Done()
    if record.sending_since is not None:
        with job.transaction():
            moves.doubt(record)
    if record.state == State.UNCERTAIN and not conf().notifications_resend_uncertain:
        return Done()
    letter = _letter(record)
    if isinstance(letter, Refusal):
        return Done(record=partial(moves.end, record, letter.state, letter.reason))
    try:
        _send(job, record, letter)
    except RecordGone:
        return Done()
    except mail.MailFault as fault:
        return _refused(job, record, fault)
    return Done(record=partial(moves.end, record, State.SENT))


@deliver.on_abandon
def give_up(job: JobContext) -> None:
    """What was given up has failed, unless it may have arrived: that an officer is to see."""
    found = Notification.objects.undelivered().select_for_update(no_key=True)
    record = found.filter(pk=job.claimed.payload["notification_id"]).first()
    if record is None:
        return
    if record.sending_since is not None:
        moves.doubt(record)
    if Job.objects.filter(pk=job.id, state=JobState.CANCELLED).exists():
        moves.end(record, State.FAILED, Reason.CANCELLED)
    elif record.state != State.UNCERTAIN:
        moves.end(record, State.FAILED, Reason.GAVE_UP)


@deliver.on_redrive
def take_up(job: JobContext) -> None:
    """What failed with its job is to be sent after all; what ended otherwise is a matter of its own page."""
    found = Notification.objects.select_for_update(no_key=True)
    record = found.filter(pk=job.claimed.payload["notification_id"]).first()
    if record is None:
        raise MoveRefused("gone", "its message is past its retention: there is nothing to send.")
    if record.state == State.FAILED:
        moves.reopen(record)
    elif record.state not in (State.PENDING, State.UNCERTAIN):
        raise MoveRefused(
            f"message_{record.state}", f"its message is {WORDS[State(record.state)]}: see its page."
        )


@dataclass(frozen=True, slots=True)
class _Letter:
    """What is to be sent, before it is put into words."""

    category: Category
    subject: Subject


def _letter(record: Notification) -> _Letter | Refusal:
    """Decide again, with what its recipient wants now and what has become of its subject."""
    try:
        kind = category(record.category)
    except CategoryUnknown:
        return Refusal(State.SUPPRESSED, Reason.CATEGORY_GONE)
    refusal = decide(kind, record, wishes_of(record))
    if refusal is not None:
        return refusal
    subject = kind.describe(record)
    if subject is None:
        return Refusal(State.SUPPRESSED, Reason.SUBJECT_GONE)
    return _Letter(kind, subject)


def _send(job: JobContext, record: Notification, letter: _Letter) -> None:
    """The beginning of the sending is committed before anything of the message leaves."""

    mint = letter.category.mint
    if mint is not None:
        with job.transaction():
            minted = mint(record, letter.subject)
            # The credential is one of the account as it is now, and so is the address it goes to.
            record.recipient.refresh_from_db()
            message = _compose(record, letter, minted, job.claimed.fence)
            moves.begin(record)
        mail.send(message)
        return

    def begin() -> None:
        with job.transaction():
            moves.begin(record)

    mail.send(_compose(record, letter, letter.subject), before_data=begin)


def _compose(
    record: Notification, letter: _Letter, subject: Subject, sending: int | None = None
) -> EmailMessage:
    """``sending`` tells messages apart that are not the same over the attempts."""
    return mail.compose(
        render(
            letter.category,
            subject,
            language=language_of(record.recipient),
            unsubscribe_url=unsubscribe_url(record),
        ),
        to=address_of(record.recipient),
        name=record.recipient.get_full_name(),
        message_id=str(record.pk) if sending is None else f"{record.pk}.{sending}",
        headers=unsubscribe_headers(record),
    )


def _refused(job: JobContext, record: Notification, fault: mail.MailFault) -> Result:
    begun = record.sending_since is not None
    if isinstance(fault, mail.AddressRefused | mail.MessageRefused):
        reason = FINAL[type(fault)]
        return Done(record=partial(moves.end, record, State.FAILED, reason, count=not begun))
    spent = fault.spends if isinstance(fault, mail.SenderRefused) else True
    if begun or spent:
        with job.transaction():
            if isinstance(fault, mail.Unanswered):
                moves.doubt(record)
            else:
                moves.take_back(record, count=not begun)
    if isinstance(fault, mail.Unanswered) and not conf().notifications_resend_uncertain:
        return Done()
    return answer_to(fault, job)
