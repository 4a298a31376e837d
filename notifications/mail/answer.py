"""What becomes of a job whose mail was not handed over: the same for every kind that sends mail."""

from datetime import timedelta
from typing import Any

from hubqueue.api import Backoff, Done, JobContext, Result, Retry
from notifications.mail.breaker import pause_sending
from notifications.mail.faults import (
    AddressRefused,
    MailFault,
    MessageRefused,
    SenderRefused,
    TryLater,
    Unanswered,
)

# What @handler is given for a kind that sends mail: growing gaps for at least a day.
MAIL: dict[str, Any] = {
    "detached": True,
    "queue": "mail",
    "backoff": Backoff(base=timedelta(seconds=30), cap=timedelta(hours=1)),
    "give_up_after": timedelta(hours=24),
    "timeout": timedelta(minutes=5),
}
# Sooner than the pause ends nobody asks; after it, nobody should wait.
AT_ONCE = timedelta(seconds=1)


def answer_to(fault: MailFault, job: JobContext) -> Result:
    """The outcome of the attempt. A refused login or sender pauses all mail and spends no attempt,
    unless the server says so only of this message.

    A final refusal of this address or message is ``Done`` with the fault's code as its result: trying again
    or an officer would change nothing. What the job has to record of that is its own business.
    """
    match fault:
        case SenderRefused():
            pause_sending(fault)
            if fault.spends:
                return Retry(code=fault.code)
            return Retry(after=AT_ONCE, code=fault.code, spend=False)
        case AddressRefused() | MessageRefused():
            return Done(result=fault.code)
        case TryLater() | Unanswered():
            return Retry(code=fault.code)
        case _:
            raise TypeError(
                f"expected a fault of one of the five kinds, got {type(fault).__name__}"
            )
