"""Settings of the server as a session sees them: the value, who set it, and how to take it back."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.backends.utils import CursorWrapper

from hubqueue.direct import Raw

READ = """
SELECT name, setting, source, session_user, current_database() FROM pg_settings WHERE name = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``value`` is in the setting's own unit: milliseconds for all timeouts."""

    name: str
    value: str
    source: str
    role: str
    database: str

    @property
    def length(self) -> timedelta:
        return timedelta(milliseconds=int(self.value))

    @property
    def by(self) -> str:
        """Who set it."""
        match self.source:
            case "user":
                return f"set on the role {self.role}"
            case "database":
                return f"set on the database {self.database}"
            case "database user":
                return f"set on the role {self.role} in the database {self.database}"
            case "client":
                return "sent by the client when it connects"
            case "session":
                return "set by this project right after it connected"
            case "default":
                return "the default"
            case _:
                return "set in the server's configuration"

    @property
    def remedy(self) -> str:
        """How it goes back to the server's own value."""
        role, database = identifier(self.role), identifier(self.database)
        match self.source:
            case "user":
                return f"ALTER ROLE {role} RESET {self.name}"
            case "database":
                return f"ALTER DATABASE {database} RESET {self.name}"
            case "database user":
                return f"ALTER ROLE {role} IN DATABASE {database} RESET {self.name}"
            case "client":
                return f"take {self.name} out of OPTIONS in DATABASES, or out of PGOPTIONS"
            case "session":
                return f"take {self.name} out of OPTIONS in DATABASES, or out of your receiver of connection_created"
            case _:
                return f"change {self.name} in postgresql.conf or with ALTER SYSTEM, then SELECT pg_reload_conf()"


def read(over: CursorWrapper | Raw, names: Iterable[str]) -> dict[str, Setting]:
    """The settings of these names that this server knows, as the session ``over`` has them."""
    rows = over.execute(READ, [list(names)])
    fetched = over.fetchall() if isinstance(over, CursorWrapper) else rows.fetchall()
    return {row[0]: Setting(*row) for row in fetched}


def identifier(name: str) -> str:
    """A name as SQL takes it."""
    if re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        return name
    return '"' + name.replace('"', '""') + '"'
