"""Why a message was not sent: stable codes, each with the sentence an officer reads."""

from enum import StrEnum


class Reason(StrEnum):
    SWITCHED_OFF = "switched_off"
    OWN_DOING = "own_doing"
    LEFT = "left"
    NO_ADDRESS = "no_address"
    ADDRESS_UNSENDABLE = "address_unsendable"
    ADDRESS_REFUSED = "address_refused"
    MESSAGE_REFUSED = "message_refused"
    SUBJECT_GONE = "subject_gone"
    CATEGORY_GONE = "category_gone"
    GAVE_UP = "gave_up"
    CANCELLED = "cancelled"
    RESTORED = "restored"
    DROPPED = "dropped"


SENTENCES = {
    Reason.SWITCHED_OFF: "The recipient does not want this kind of mail.",
    Reason.OWN_DOING: "The recipient did it and knows.",
    Reason.LEFT: "The account of the recipient is closed.",
    Reason.NO_ADDRESS: "The account has no address.",
    Reason.ADDRESS_UNSENDABLE: "The address of the account cannot be written to.",
    Reason.ADDRESS_REFUSED: "The mail server refused the address for good.",
    Reason.MESSAGE_REFUSED: "The mail server refused the message for good.",
    Reason.SUBJECT_GONE: "What it was about is gone.",
    Reason.CATEGORY_GONE: "No application knows this kind of mail any more.",
    Reason.GAVE_UP: "It could not be sent for a day.",
    Reason.CANCELLED: "An officer cancelled it.",
    Reason.RESTORED: "It waited when the archive was made that this installation comes from.",
    Reason.DROPPED: "An officer dropped it after a restore.",
}
