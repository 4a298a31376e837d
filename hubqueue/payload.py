"""Arguments to JSON and back: checked against the handler's signature at both ends.

Conversion is msgspec's (UUID, datetime, date, time, timedelta, Decimal, enum, dataclass and the JSON types);
what PostgreSQL's jsonb or a JSON reader cannot keep is refused here, with the path of the value.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from hubqueue.errors import PayloadRefused

UNCONVERTIBLE = (msgspec.ValidationError, TypeError, ValueError, OverflowError, RecursionError)

Json = None | bool | int | float | str | list[Any] | dict[str, Any]

# Beyond these a reader that keeps numbers as doubles reads another number.
JSON_SAFE = 2**53 - 1
DEPTH = 64

AS_IS: frozenset[Any] = frozenset({str, int, float, bool, UUID})


class Signature:
    """The keyword-only arguments of one handler: their types, and which must be given."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}"
        hints = get_type_hints(function)
        parameters = list(inspect.signature(function).parameters.values())
        if not parameters or parameters[0].kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(f"{self.name}: a handler's first parameter is the job: (job, *, ...)")
        self.types: dict[str, Any] = {}
        self.required: set[str] = set()
        self._as_is: dict[str, frozenset[type]] = {}
        for each in parameters[1:]:
            if each.kind is not inspect.Parameter.KEYWORD_ONLY:
                raise TypeError(
                    f"{self.name}: argument {each.name} must be keyword-only: (job, *, {each.name})"
                )
            if each.name not in hints:
                raise TypeError(f"{self.name}: argument {each.name} needs a type annotation")
            self.types[each.name] = hints[each.name]
            self._as_is[each.name] = _kept_as_is(hints[each.name])
            if each.default is inspect.Parameter.empty:
                self.required.add(each.name)

    def encode(self, arguments: Mapping[str, Any], *, limit: int) -> str:
        """The arguments as JSON text. Raises ``PayloadRefused`` naming the argument; ``limit`` is in bytes."""
        self._check_names(arguments)
        encoded = {name: self.write(name, value) for name, value in arguments.items()}
        return dump(encoded, "arguments", limit=limit)

    def decode(self, payload: Any) -> dict[str, Any]:
        """The arguments a stored payload stands for. Raises ``PayloadRefused`` naming the argument."""
        if not isinstance(payload, dict):
            raise PayloadRefused("payload", "expected an object")
        self._check_names(payload)
        return {name: self.read(name, value) for name, value in payload.items()}

    def write(self, name: str, value: Any) -> Json:
        """One argument as JSON. Raises ``PayloadRefused`` when it would not come back as it is."""
        if type(value) in self._as_is[name]:
            plain = str(value) if type(value) is UUID else value
            check_storable(plain, name)
            return plain
        return self._write_and_compare(name, value)

    def read(self, name: str, value: Json) -> Any:
        """One argument out of JSON, as the handler's annotation has it."""
        try:
            return msgspec.convert(value, self.types[name])
        except UNCONVERTIBLE as problem:
            raise PayloadRefused(name, _expectation(self.types[name], value)) from problem

    def _write_and_compare(self, name: str, value: Any) -> Json:
        _refuse_collections(value, name)
        try:
            converted = msgspec.convert(value, self.types[name], from_attributes=False)
            plain = msgspec.to_builtins(converted, str_keys=False)
        except UNCONVERTIBLE as problem:
            raise PayloadRefused(name, _expectation(self.types[name], value)) from problem
        check_storable(plain, name)
        back: Json = msgspec.json.decode(msgspec.json.encode(plain))
        _check_return(converted, self.read(name, back), name)
        return back

    def _check_names(self, given: Mapping[str, Any]) -> None:
        if given.keys() == self.types.keys() or self.required <= given.keys() <= self.types.keys():
            return
        for name in given:
            if name not in self.types:
                known = ", ".join(sorted(self.types)) or "none"
                raise PayloadRefused(
                    _clip(name), f"unknown argument of {self.name}; known are: {known}"
                )
        missing = sorted(self.required - set(given))
        if missing:
            raise PayloadRefused(missing[0], f"missing argument of {self.name}")


def _kept_as_is(expected: Any) -> frozenset[type]:
    """The types whose values come back from JSON as they are where this is annotated, so that none need be tried."""
    given = set(get_args(expected)) if get_origin(expected) in (Union, UnionType) else {expected}
    return (
        frozenset(given) if len(given & AS_IS) == 1 and given <= {*AS_IS, NoneType} else frozenset()
    )


def check_storable(value: Any, path: str, depth: int = 0) -> None:
    """Refuse what JSON or jsonb cannot keep as it is: NaN, infinities, NUL, lone surrogates, huge integers."""
    if depth > DEPTH:
        raise PayloadRefused(_clip(path), f"nested deeper than {DEPTH} levels")
    if value is None or value is True or value is False:
        return
    kind = type(value)
    if kind is str:
        _check_text(value, path)
    elif kind is int:
        if not -JSON_SAFE <= value <= JSON_SAFE:
            raise PayloadRefused(
                path, "an integer beyond 2**53 - 1 does not survive JSON; pass it as str"
            )
    elif kind is float:
        if not math.isfinite(value):
            raise PayloadRefused(path, "NaN and infinities cannot be stored")
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise PayloadRefused(path, f"keys must be str, got {type(key).__name__}")
            _check_text(key, f"{path} (a key)")
            check_storable(item, f"{path}.{_clip(key)}", depth + 1)
    elif kind is list or kind is tuple:
        for index, item in enumerate(value):
            check_storable(item, f"{path}[{index}]", depth + 1)
    else:
        raise PayloadRefused(path, f"{kind.__name__} is not JSON")


def dump(value: Any, path: str, *, limit: int) -> str:
    """Storable ``value`` as JSON text of at most ``limit`` bytes."""
    text = msgspec.json.encode(value)
    if len(text) > limit:
        raise PayloadRefused(path, f"{len(text):,} bytes of JSON, at most {limit:,} can be stored")
    return text.decode()


def clean(value: Any, *, limit: int) -> str:
    """A result as JSON text that can always be stored: what cannot be kept becomes a note that says so.

    Used where refusing would leave a finished job unsettled.
    """
    try:
        plain = msgspec.to_builtins(value)
        check_storable(plain, "result")
        return dump(plain, "result", limit=limit)
    except PayloadRefused as refused:
        return dump({"not_stored": refused.problem}, "result", limit=limit)
    except UNCONVERTIBLE:
        return dump({"not_stored": f"{type(value).__name__} is not JSON"}, "result", limit=limit)


def _check_text(text: str, path: str) -> None:
    if "\x00" in text:
        raise PayloadRefused(path, "a NUL character cannot be stored in PostgreSQL")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise PayloadRefused(path, "a lone surrogate is not valid Unicode") from None


def _refuse_collections(value: Any, path: str, depth: int = 0) -> None:
    """Naive moments, sets and strings that cannot be stored are refused before conversion hides them."""
    if depth > DEPTH:
        raise PayloadRefused(_clip(path), f"nested deeper than {DEPTH} levels")
    if isinstance(value, datetime) and value.tzinfo is None:
        raise PayloadRefused(path, "a naive datetime; make it aware")
    if isinstance(value, (set, frozenset)):
        raise PayloadRefused(path, "a set has no order; pass a list")
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str):
                _check_text(key, f"{path} (a key)")
            _refuse_collections(item, f"{path}.{_clip(str(key))}", depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _refuse_collections(item, f"{path}[{index}]", depth + 1)


def _check_return(given: Any, back: Any, path: str) -> None:
    """Refuse what JSON would hand to the handler as another type: where the annotation says nothing (``Any``,
    ``dict``), a date would come back as text, a tuple as a list. A member of ``TextChoices`` is text already."""
    if not isinstance(given, type(back)):
        raise PayloadRefused(
            path,
            f"{type(given).__name__} would come back from JSON as {type(back).__name__};"
            " name its type in the handler's annotation",
        )
    if isinstance(given, datetime):
        offset = given.utcoffset()
        if offset is None:
            raise PayloadRefused(path, "a naive datetime; make it aware")
        if offset % timedelta(minutes=1):
            raise PayloadRefused(path, "JSON has no seconds in an offset; pass it in UTC")
    if isinstance(given, dict):
        for (key, one), other in zip(given.items(), back.values(), strict=True):
            _check_return(one, other, f"{path}.{_clip(str(key))}")
    elif isinstance(given, (list, tuple)):
        for index, (one, other) in enumerate(zip(given, back, strict=True)):
            _check_return(one, other, f"{path}[{index}]")
    elif is_dataclass(given):
        for each in fields(given):
            _check_return(
                getattr(given, each.name), getattr(back, each.name), f"{path}.{each.name}"
            )


def _expectation(expected: Any, value: Any) -> str:
    name = getattr(expected, "__name__", None) if isinstance(expected, type) else str(expected)
    return f"expected {name}, got {type(value).__name__} that is not one"


def _clip(text: str) -> str:
    printable = text.encode("ascii", "backslashreplace").decode()
    return printable if len(printable) <= 60 else printable[:57] + "..."
