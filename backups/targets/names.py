"""Which names objects have, and which mark what is not finished."""

import re
from uuid import uuid4

from backups.errors import NameRefused

PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")
LONGEST = 800
UNFINISHED = ".part-"


def is_part(text: str) -> bool:
    """Whether a directory or an object may be called so. A dot at the beginning is for unfinished ones."""
    return bool(PART.fullmatch(text))


def is_name(text: str) -> bool:
    """Whether this is a name: parts with ``/`` between them."""
    return len(text) <= LONGEST and all(map(is_part, text.split("/")))


def checked(name: str) -> str:
    """The name. Raises ``NameRefused`` for one that could be somewhere else, or cannot be everywhere."""
    if not is_name(name):
        raise NameRefused(
            "expected a name of letters, digits, '.', '_' and '-', with '/' between its parts, none of which"
            " begins with a dot"
        )
    return name


def unfinished() -> str:
    """A new name for what is being written."""
    return f"{UNFINISHED}{uuid4().hex}"
