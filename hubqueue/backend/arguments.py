"""Arguments and return values as JSON, by Django's rules and ours.

Django's: sequences become lists, bytes that are UTF-8 become text, text and numbers of subclasses (choices,
safe strings) become plain ones. Ours: what would not survive PostgreSQL or a JSON reader is refused, and
the refusal names the argument.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import Parameter, Signature, signature
from typing import Any

from hubqueue.backend.compat import AnyTask
from hubqueue.backend.errors import ArgumentRefused, ResultRefused
from hubqueue.errors import PayloadRefused
from hubqueue.payload import DEPTH, Json, check_storable, dump

POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def encode(
    task: AnyTask, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Json], dict[str, Json]]:
    """The arguments as JSON values. Raises ``PayloadRefused`` naming the one that cannot be stored."""
    leading = (None,) if task.takes_context else ()
    known = _signature(task.func)
    try:
        known.bind(*leading, *args, **kwargs)
    except TypeError as problem:  # it names parameters, never values
        raise ArgumentRefused("arguments", f"do not fit {task.module_path}: {problem}") from None
    names = _positional_names(known, len(leading), len(args))
    return (
        [storable(value, name) for name, value in zip(names, args, strict=True)],
        {name: storable(value, name) for name, value in kwargs.items()},
    )


def result(value: object, *, limit: int) -> Json:
    """A return value as JSON of at most ``limit`` bytes. Raises ``ResultRefused``."""
    try:
        plain = storable(value, "return value")
        dump(plain, "return value", limit=limit)
    except PayloadRefused as refused:
        raise ResultRefused(refused.argument, refused.problem) from None
    return plain


def storable(value: object, path: str) -> Json:
    """``value`` as plain JSON that comes back as it is. Raises ``PayloadRefused``."""
    plain = _plain(value, path)
    check_storable(plain, path)
    return plain


@lru_cache(maxsize=1024)
def _signature(function: Callable[..., Any]) -> Signature:
    # What is called is the outermost function: a decorator may take other arguments than what it wraps.
    return signature(function, follow_wrapped=False)


def _positional_names(known: Signature, leading: int, count: int) -> list[str]:
    names = [each.name for each in known.parameters.values() if each.kind in POSITIONAL][leading:]
    rest = [
        each.name for each in known.parameters.values() if each.kind is Parameter.VAR_POSITIONAL
    ]
    beyond = max(0, count - len(names))
    return [*names[:count], *(f"{rest[0]}[{index}]" for index in range(beyond))]


def _plain(value: object, path: str, depth: int = 0) -> Json:
    if depth > DEPTH:
        raise ArgumentRefused(path[:60], f"nested deeper than {DEPTH} levels")
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case bytes():
            return _text(value, path)
        case int():
            return int(value)
        case float():
            return float(value)
        case Mapping():
            return {
                _key(key, path): _plain(item, f"{path}.{_short(key)}", depth + 1)
                for key, item in value.items()
            }
        case Sequence():
            return [_plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
        case _:
            raise ArgumentRefused(
                path, f"{type(value).__name__} is not JSON; pass its id or its text instead"
            )


def _text(value: bytes, path: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ArgumentRefused(path, "bytes that are not UTF-8; pass them as base64") from None


def _key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise ArgumentRefused(path, f"keys must be str, got {type(key).__name__}")
    return str.__str__(key)


def _short(key: object) -> str:
    printable = str(key).encode("ascii", "backslashreplace").decode()
    return printable if len(printable) <= 60 else f"{printable[:57]}..."
