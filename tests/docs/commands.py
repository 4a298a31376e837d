"""What the command lines of the documents may call, asked of the commands themselves."""

import re
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator

from django.core.management import get_commands, load_command_class

from bench import commandline as bench
from tests.conftest import CHECKOUT

OURS = ("backups", "config", "demo", "hubqueue", "leads")


def parser(name: str) -> ArgumentParser:
    """The argument parser of a management command."""
    app = get_commands()[name]
    assert isinstance(app, str)
    return load_command_class(app, name).create_parser("manage.py", name)


def options() -> set[str]:
    """Every long option of our commands and the verbs below them, of ./dev and of the bench."""
    found = {"--all", *_options(bench.parser())}
    for name, app in get_commands().items():
        if str(app).startswith(OURS):
            found.update(_options(parser(name)))
    return found


def _options(of: ArgumentParser) -> Iterator[str]:
    for action in of._actions:
        yield from (each for each in action.option_strings if each.startswith("--"))
        if isinstance(action, _SubParsersAction):
            for below in action.choices.values():
                yield from _options(below)


def dev_commands() -> set[str]:
    """The words that ./dev takes."""
    text = (CHECKOUT / "dev").read_text()
    return set(re.findall(r"^\./dev (\w+)", text, flags=re.MULTILINE))
