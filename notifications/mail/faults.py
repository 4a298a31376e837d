"""Why a message was not handed over. What the server wrote is in none of them: it may quote names and passwords."""

from enum import StrEnum

from notifications.errors import NotificationError


class Stage(StrEnum):
    """How far a conversation with the server had come."""

    OPEN = "open"
    LOGIN = "login"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    END = "end"  # the message is out, its answer is not


class MailFault(NotificationError):
    """``code`` is stable; ``reply`` is the server's three digits, None when there were none."""

    code = "mail.fault"

    def __init__(self, stage: Stage, reply: int | None = None, *, code: str | None = None) -> None:
        said = "nothing" if reply is None else str(reply)
        self.code = code or type(self).code
        super().__init__(f"{self.code}: the mail server answered {said} at {stage}.")
        self.stage = stage
        self.reply = reply


class TryLater(MailFault):
    """Not now: a temporary refusal, no connection, or silence. Nothing was accepted.

    ``closed``: the server ended the connection, which may have been its reason.
    """

    code = "mail.try_later"

    def __init__(
        self,
        stage: Stage,
        reply: int | None = None,
        *,
        code: str | None = None,
        closed: bool = False,
    ) -> None:
        super().__init__(stage, reply, code=code)
        self.closed = closed


class AddressRefused(MailFault):
    """The server refused the recipient for good."""

    code = "mail.address_refused"


class MessageRefused(MailFault):
    """The server refused the message for good."""

    code = "mail.message_refused"


class SenderRefused(MailFault):
    """The server refuses us: the login, the sender, or no server is set. No other message would fare better."""

    code = "mail.sender_refused"

    @property
    def spends(self) -> bool:
        """Whether it costs an attempt: it came after our login and our name were taken, so it may be this message's
        own fate, and must not hold up the others for ever."""
        return self.stage in (Stage.RCPT, Stage.DATA, Stage.END)


class Unanswered(MailFault):
    """The message went out and the answer was lost: it may have arrived."""

    code = "mail.unanswered"
