"""How an attempt ended, and why a message or a subscription came to its end: stable codes with sentences."""

from enum import StrEnum


class Outcome(StrEnum):
    """How an attempt ended."""

    DELIVERED = "delivered"
    REDIRECTED = "redirected"
    GONE = "gone"
    THROTTLED = "throttled"
    REFUSED = "refused"
    SERVER_ERROR = "server_error"
    TOO_LATE = "too_late"
    UNREACHABLE = "unreachable"
    ADDRESS_REFUSED = "address_refused"
    URL_REFUSED = "url_refused"
    INTERRUPTED = "interrupted"


class Reason(StrEnum):
    """Why a message is dead, beside the outcomes of its last attempt."""

    SUBSCRIPTION_OFF = "subscription_off"
    GIVEN_UP = "given_up"
    DROPPED = "dropped"


class Off(StrEnum):
    """Why a subscription is disabled."""

    BY_OFFICER = "by_officer"
    GONE = "gone"
    FAILING = "failing"


SENTENCES: dict[str, str] = {
    "restored": "The installation was restored from an archive. Enable it when it may be called.",
    Outcome.DELIVERED: "The endpoint took it.",
    Outcome.REDIRECTED: "The endpoint answered with a redirect. Redirects are not followed.",
    Outcome.GONE: "The endpoint answered that it is gone for good (410).",
    Outcome.THROTTLED: "The endpoint asked for time (429 or 503).",
    Outcome.REFUSED: "The endpoint refused the request.",
    Outcome.SERVER_ERROR: "The endpoint is out of order.",
    Outcome.TOO_LATE: "There was no complete answer in time. The endpoint may have taken it.",
    Outcome.UNREACHABLE: "There was no connection, or it was cut. The endpoint may have taken it.",
    Outcome.ADDRESS_REFUSED: "The address of the endpoint is private, reserved or spelt oddly. It was not called.",
    Outcome.URL_REFUSED: "The URL is not called: it is not https://, or none at all.",
    Outcome.INTERRUPTED: "It was cut off: a worker died, or there was a restore. The endpoint may have taken it.",
    Reason.SUBSCRIPTION_OFF: "The subscription was disabled when its turn came.",
    Reason.DROPPED: "An officer dropped it after a restore.",
    Reason.GIVEN_UP: "Its job was cancelled, or is a dead letter for a reason of our own.",
    Off.BY_OFFICER: "An officer disabled it.",
    Off.FAILING: "Several messages in a row could not be delivered.",
}


def outcome_of(code: int) -> Outcome:
    """What an HTTP code says about the attempt."""
    match code:
        case 410:
            return Outcome.GONE
        case 429 | 503:
            return Outcome.THROTTLED
        case _ if 200 <= code < 300:
            return Outcome.DELIVERED
        case _ if 300 <= code < 400:
            return Outcome.REDIRECTED
        case _ if 400 <= code < 500:
            return Outcome.REFUSED
    return Outcome.SERVER_ERROR
