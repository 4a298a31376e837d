"""Statements by name: what the ORM cannot say, one file each, with bound parameters only."""

from functools import cache
from importlib.resources import files


@cache
def sql(name: str) -> str:
    """The text of ``<name>.sql`` beside this file."""
    return files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")
