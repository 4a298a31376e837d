"""Why an exchange did not happen or brought no answer. Codes are stable; sentences hold nothing of a URL."""


class OutboundError(Exception):
    """Base of all of them. Whether the other side acted is open, except where a subclass says otherwise."""

    code = "outbound.error"


class UrlRefused(OutboundError):
    """This is no URL that is called: nothing was sent."""

    code = "outbound.url_refused"


class AddressRefused(OutboundError):
    """The host is, or resolves to, an address that is not called, or is spelt oddly: nothing was sent."""

    code = "outbound.address_refused"


class Unreachable(OutboundError):
    """There was no connection, or no complete answer. ``late``: the time for all of it was over."""

    code = "outbound.unreachable"

    def __init__(self, said: str, *, late: bool = False) -> None:
        super().__init__(said)
        self.late = late


class AnswerTooLong(OutboundError):
    """The answer is longer than the caller takes."""

    code = "outbound.answer_too_long"
