"""Mail: compose a message and hand it to the server over a kept connection, or learn in one of five ways why not."""

from notifications.mail.composing import Text, compose
from notifications.mail.faults import (
    AddressRefused,
    MailFault,
    MessageRefused,
    SenderRefused,
    TryLater,
    Unanswered,
)
from notifications.mail.sending import send

__all__ = [
    "AddressRefused",
    "MailFault",
    "MessageRefused",
    "SenderRefused",
    "Text",
    "TryLater",
    "Unanswered",
    "compose",
    "send",
]
