"""``manage.py backups keygen``: a new master key."""

from argparse import ArgumentParser
from typing import Any

from backups.commands.screen import Screen
from backups.keys import MasterKey

VERB = "keygen"
HELP = "Make a master key, for BACKUPS_KEYS."
KEEP = (
    "Put it first in BACKUPS_KEYS, leave the older ones there, and keep a copy elsewhere:"
    " without its key, nobody opens an archive."
)


def add(parser: ArgumentParser) -> None:
    """It takes nothing."""


def run(screen: Screen, options: dict[str, Any]) -> None:
    """Nothing is kept: whoever asked has the only copy."""
    key = MasterKey.new()
    screen.answer({"id": key.id, "key": key.text}, [key.text])
    screen.note(KEEP)
