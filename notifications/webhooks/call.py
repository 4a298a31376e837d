"""One request to an endpoint, and what came of it. No transaction is open."""

from dataclasses import dataclass
from time import monotonic

from notifications.webhooks.begin import Flight
from notifications.webhooks.conf import conf
from notifications.webhooks.outcomes import Outcome, outcome_of
from notifications.webhooks.targets import check_url
from outbound.errors import AddressRefused, OutboundError, Unreachable, UrlRefused
from outbound.exchange import Limits, exchange


@dataclass(frozen=True, slots=True)
class Ended:
    """How a request ended. ``answer`` is the beginning of the body as text, ``asked`` its Retry-After."""

    outcome: Outcome
    seconds: float
    code: int | None = None
    answer: str = ""
    cut: bool = False
    asked: str = ""


def call(flight: Flight) -> Ended:
    """Send it. Every outcome is an answer; nothing is raised for what an endpoint does."""
    started = monotonic()
    try:
        check_url(flight.url)
        answer = exchange(
            "POST", flight.url, body=flight.body, headers=flight.headers, limits=_limits()
        )
    except OutboundError as raised:
        return Ended(_outcome_of_error(raised), monotonic() - started)
    outcome = outcome_of(answer.code)
    return Ended(
        outcome,
        monotonic() - started,
        answer.code,
        _text(answer.body),
        answer.cut,
        answer.headers.get("retry-after", "") if outcome is Outcome.THROTTLED else "",
    )


def _outcome_of_error(raised: OutboundError) -> Outcome:
    match raised:
        case UrlRefused():
            return Outcome.URL_REFUSED
        case AddressRefused():
            return Outcome.ADDRESS_REFUSED
        case Unreachable(late=True):
            return Outcome.TOO_LATE
    return Outcome.UNREACHABLE


def _text(body: bytes) -> str:
    """Bytes as text that PostgreSQL keeps and a page shows."""
    text = body.decode("utf-8", errors="replace").replace("\r\n", "\n")
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text)


def _limits() -> Limits:
    return Limits(
        timeout=conf().webhooks_timeout,
        deadline=conf().webhooks_deadline,
        size=conf().webhooks_answer_limit,
        private=conf().webhooks_allow_private,
        cut=True,
    )
