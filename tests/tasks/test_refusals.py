"""What cannot be stored or found is refused when it is enqueued, and the refusal names it."""

from collections.abc import Callable
from typing import Any

import pytest

from hubqueue.backend.compat import InvalidTask
from hubqueue.backend.errors import ArgumentRefused
from hubqueue.errors import PayloadRefused
from hubqueue.models import Job
from tests.tasks import functions
from tests.tasks.conftest import OURS, Stage
from tests.tasks.framework import task

CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "positional by its parameter": (lambda: functions.add.enqueue({1}), "one: set"),
    "by name": (lambda: functions.add.enqueue(1, other=object()), "other: object"),
    "of the rest by its place": (lambda: functions.echo.enqueue(0, {1}), "args[1]: set"),
    "after the context": (lambda: functions.tell_context.enqueue({1}), "word: set"),
    "nested": (lambda: functions.echo.enqueue(x={"a": [0, {1}]}), "x.a[1]: set"),
    "not a number": (lambda: functions.echo.enqueue(x=float("nan")), "x: NaN"),
    "NUL": (lambda: functions.echo.enqueue(x=["a\x00b"]), "x[0]: a NUL"),
    "lone surrogate": (lambda: functions.echo.enqueue(x="\ud800"), "x: a lone surrogate"),
    "too large": (lambda: functions.echo.enqueue(x=2**53), "x: an integer beyond"),
    "a key": (lambda: functions.echo.enqueue(x={1: 2}), "x: keys must be str, got int"),
    "binary": (lambda: functions.echo.enqueue(x=b"\xff"), "x: bytes that are not UTF-8"),
    "long": (lambda: functions.echo.enqueue(x="y" * 300_000), "arguments: 300,"),
}


@OURS
@pytest.mark.parametrize("call", CALLS)
def test_an_argument_that_cannot_be_stored_is_named(stage: Stage, call: str) -> None:
    enqueue, said = CALLS[call]
    with pytest.raises(PayloadRefused) as refused:
        enqueue()
    assert str(refused.value).startswith(said)
    assert not Job.objects.exists()


@pytest.mark.parametrize("value", [{}, []])
def test_endless_nesting_is_refused(stage: Stage, value: Any) -> None:
    value.append(value) if isinstance(value, list) else value.update(again=value)
    with pytest.raises(ArgumentRefused, match="nested deeper"):
        functions.echo.enqueue(value)


@OURS
@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((), {}, "missing a required argument: 'one'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"secret": "s3cret"}, "got an unexpected keyword argument 'secret'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_without_their_values(
    stage: Stage, args: Any, kwargs: Any, said: str
) -> None:
    with pytest.raises(ArgumentRefused) as refused:
        functions.add.enqueue(*args, **kwargs)
    assert str(refused.value) == f"arguments: do not fit tests.tasks.functions.add: {said}"


@OURS
def test_a_function_that_a_worker_would_not_find_is_refused(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidTask, match="must lead to the function"):
        functions.renamed.enqueue()
    monkeypatch.setattr(functions.plain, "__module__", "__main__")
    with pytest.raises(InvalidTask, match="another __main__"):
        task(functions.plain).enqueue()
    monkeypatch.setattr(functions.plain, "__module__", "nowhere.at.all")
    with pytest.raises(InvalidTask, match="must lead to the function"):
        task(functions.plain).enqueue()
    assert not Job.objects.exists()
