"""What the codes of mail's faults mean for somebody who is no engineer, and who can help."""

from notifications.errors import AddressUnsendable
from notifications.mail import AddressRefused, MessageRefused, SenderRefused, TryLater, Unanswered
from notifications.reasons import SENTENCES, Reason

MEANINGS = {
    AddressRefused.code: SENTENCES[Reason.ADDRESS_REFUSED],
    MessageRefused.code: SENTENCES[Reason.MESSAGE_REFUSED],
    AddressUnsendable.code: SENTENCES[Reason.ADDRESS_UNSENDABLE],
    Reason.LEFT.value: SENTENCES[Reason.LEFT],
    TryLater.code: "The mail server could not be reached, or wants to be asked again later.",
    Unanswered.code: "The connection broke before the mail server's answer came: it may have arrived.",
    SenderRefused.code: "The mail server refuses mail from here: tell the operator.",
    "mail.not_set": "No mail server is set: the operator has to name one.",
}
