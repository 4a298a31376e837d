"""The closed vocabulary of a rule's conditions. What is not listed here is refused by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

FIELDS = ("axis", "values", "question_id")
MAX_VALUES = 1000


class Axis(StrEnum):
    """What a condition looks at."""

    EVENT = "event"
    EVENT_TYPE = "event_type"
    COMPANY = "company"
    QUESTION_ANSWER = "question_answer"


class PredicateRefused(ValueError):
    """A condition uses something outside the vocabulary. The message lists what is allowed."""

    code = "leads.predicate_refused"


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition: ``axis`` has one of ``values``. ``question_id`` is set on answers only."""

    axis: Axis
    values: tuple[UUID, ...]
    question_id: UUID | None = None


def parse(given: Mapping[str, Any]) -> Predicate:
    """The condition that ``given`` says: ``axis``, ``values`` (ids) and, on answers, ``question_id``.

    Raises ``PredicateRefused`` for an unknown field or axis, for a value that is no id, for no values,
    and for a question where none belongs or none where one does.
    """
    unknown = sorted(str(name)[:40] for name in set(given) - set(FIELDS))
    if unknown:
        raise PredicateRefused(
            f"unknown field {', '.join(unknown)} of a condition; allowed are {', '.join(FIELDS)}."
        )
    axis = _axis(given.get("axis"))
    question = given.get("question_id")
    if (axis is Axis.QUESTION_ANSWER) != (question is not None):
        raise PredicateRefused(
            "question_id belongs to the axis question_answer, always and only; "
            f"got the axis {axis} {'with' if question is not None else 'without'} one."
        )
    return Predicate(
        axis, _values(given.get("values")), None if question is None else _id(question)
    )


def _axis(given: Any) -> Axis:
    try:
        return Axis(given)
    except ValueError:
        allowed = ", ".join(Axis)
        raise PredicateRefused(
            f"unknown axis {str(given)[:40]!r} of a condition; allowed are {allowed}."
        ) from None


def _values(given: Any) -> tuple[UUID, ...]:
    if not isinstance(given, (list, tuple)) or not 0 < len(given) <= MAX_VALUES:
        raise PredicateRefused(f"values takes a list of 1 to {MAX_VALUES} ids.")
    return tuple(dict.fromkeys(_id(value) for value in given))


def _id(given: Any) -> UUID:
    if isinstance(given, UUID):
        return given
    try:
        return UUID(given)
    except (TypeError, ValueError, AttributeError):
        raise PredicateRefused("values and question_id take ids (UUIDs) only.") from None
