"""What verbs tell, all in one way: answers to stdout, all else to stderr."""

import json
from collections.abc import Iterable

from django.core.management.base import OutputWrapper


def plain(text: str) -> str:
    """The text in one line that a terminal shows and does not obey: names come from files and archives of others."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


class Screen:
    """``as_json``: the answer is one JSON document, for programs. A line for people is ``plain``."""

    def __init__(self, out: OutputWrapper, err: OutputWrapper, *, as_json: bool) -> None:
        self._out, self._err, self.as_json = out, err, as_json

    def answer(self, value: object, lines: Iterable[str]) -> None:
        """The answer of a verb: ``value`` for programs, or ``lines`` for people."""
        if self.as_json:
            self._out.write(json.dumps(value, indent=2))
            return
        for line in lines:
            self._out.write(plain(line))

    def note(self, text: str) -> None:
        """What people should know besides."""
        self._err.write(plain(text), str)

    def progress(self, text: str, *, done: bool) -> None:
        """How far it is: a line that changes on a terminal, elsewhere a line for what is ``done``."""
        if self._err.isatty():
            self._err.write(f"\r{plain(text)}", str, ending="\n" if done else "")
        elif done:
            self._err.write(plain(text), str)
        self._err.flush()
