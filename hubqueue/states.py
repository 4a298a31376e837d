"""The states of a job and the moves between them: the one table everything else is checked against."""

from enum import StrEnum


class State(StrEnum):
    """Where a job stands. Being due is not a state: it is ``READY and run_at <= now``."""

    READY = "READY"
    RUNNING = "RUNNING"
    PARKED = "PARKED"
    SUCCEEDED = "SUCCEEDED"
    CANCELLED = "CANCELLED"
    DEAD = "DEAD"


class Move(StrEnum):
    """What may happen to a job after it was enqueued."""

    CLAIM = "claim"
    SUCCEED = "succeed"
    REPEAT = "repeat"
    RETRY = "retry"
    HAND_BACK = "hand back"
    RESCUE = "rescue"
    GIVE_UP = "give up"
    SET_ASIDE = "set aside"
    PARK = "park"
    RELEASE = "release"
    RUN_NOW = "run now"
    CANCEL = "cancel"
    REDRIVE = "redrive"
    DISMISS = "dismiss"


class Stop(StrEnum):
    """What an officer asked of a job that was running at the time."""

    CANCEL = "cancel"
    PARK = "park"


UNFINISHED = frozenset({State.READY, State.RUNNING, State.PARKED})
FINISHED = frozenset({State.SUCCEEDED, State.CANCELLED, State.DEAD})

# Every pair that is allowed, with the states it may end in. RUNNING + CANCEL or PARK is a request:
# the row stays RUNNING until its attempt settles.
MOVES: dict[tuple[State, Move], frozenset[State]] = {
    (State.READY, Move.CLAIM): frozenset({State.RUNNING}),
    (State.READY, Move.PARK): frozenset({State.PARKED}),
    (State.READY, Move.CANCEL): frozenset({State.CANCELLED}),
    (State.READY, Move.RUN_NOW): frozenset({State.READY}),
    (State.RUNNING, Move.SUCCEED): frozenset({State.SUCCEEDED, State.READY, State.PARKED}),
    (State.RUNNING, Move.REPEAT): frozenset({State.READY, State.CANCELLED, State.PARKED}),
    (State.RUNNING, Move.RETRY): frozenset({State.READY, State.CANCELLED, State.PARKED}),
    (State.RUNNING, Move.HAND_BACK): frozenset({State.READY, State.CANCELLED, State.PARKED}),
    (State.RUNNING, Move.RESCUE): frozenset({State.READY, State.CANCELLED, State.PARKED}),
    (State.RUNNING, Move.GIVE_UP): frozenset({State.DEAD, State.CANCELLED, State.PARKED}),
    (State.RUNNING, Move.SET_ASIDE): frozenset({State.PARKED, State.CANCELLED}),
    (State.RUNNING, Move.CANCEL): frozenset({State.RUNNING}),
    (State.RUNNING, Move.PARK): frozenset({State.RUNNING}),
    (State.PARKED, Move.RELEASE): frozenset({State.READY}),
    (State.PARKED, Move.RUN_NOW): frozenset({State.READY}),
    (State.PARKED, Move.CANCEL): frozenset({State.CANCELLED}),
    (State.DEAD, Move.REDRIVE): frozenset({State.READY}),
    (State.DEAD, Move.DISMISS): frozenset({State.CANCELLED}),
}


def allowed(state: State, move: Move) -> bool:
    """Whether ``move`` may be made from ``state``."""
    return (state, move) in MOVES
