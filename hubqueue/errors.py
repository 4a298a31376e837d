"""Every error of hubqueue. Messages name arguments, codes and ids, never values of a payload."""

from uuid import UUID


class HubqueueError(Exception):
    """Base of all errors. ``code`` is the short stable word stored and counted for it."""

    code = "hubqueue_error"


class PayloadRefused(HubqueueError, ValueError):
    """Something that was given cannot be stored. ``argument`` is the path to it, e.g. ``tags[2]``."""

    code = "payload_refused"

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"{argument}: {problem}")
        self.argument = argument
        self.problem = problem


class LeaseLost(HubqueueError):
    """The attempt no longer holds its job: it was rescued, handed back or settled. Nothing was written."""

    code = "lease_lost"


class UnknownAnswer(HubqueueError, TypeError):
    """A handler answered something that is none of the outcomes."""

    code = "unknown_answer"


class Unsettled(HubqueueError):
    """The end of an attempt cannot be stored just now, and that is nobody's failure; ``code`` says why."""


class RowBusy(Unsettled):
    """The job's row stayed locked by somebody's open transaction for longer than the attempt may wait."""

    code = "row_busy"


class NoRoom(Unsettled):
    """The server has no room (disk, memory) for the end of an attempt."""

    code = "no_room"


class HeldNothing(HubqueueError):
    """``hold()`` was called with no transaction open."""

    code = "no_transaction"


class TransactionLeftOpen(HubqueueError):
    """A handler ended inside a transaction that it had begun by itself: nothing after it would be committed."""

    code = "transaction_left_open"


class Unanswered(HubqueueError):
    """The handler's time was up while it waited for a database that did not answer: that is not its failure."""

    code = "connection_lost"


class StopRequested(HubqueueError):
    """Raised by ``checkpoint()``: an officer asked the job to stop, or its lease is lost."""

    code = "stop_requested"


class MoveRefused(HubqueueError):
    """An officer's verb does not fit the job as it stands. ``code`` says why, the message says it in words."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Superseded(MoveRefused):
    """A dead letter cannot be redriven: the unfinished job ``by`` has its dedupe key."""

    def __init__(self, by: UUID) -> None:
        super().__init__("superseded", f"superseded by {by}")
        self.by = by


class UnknownKind(HubqueueError):
    """No handler is registered for a kind."""

    code = "unknown_kind"


class SchemaBehind(HubqueueError):
    """The database lacks a migration that this code knows."""

    code = "schema_behind"


class Interrupted(BaseException):
    """Raised inside a handler's frame by the worker. Not an ``Exception``: ``except Exception`` must not eat it."""

    code = "interrupted"


class TimedOut(Interrupted):
    """The handler ran longer than its timeout."""

    code = "timeout"
