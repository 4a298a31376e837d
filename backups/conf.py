"""The settings of the backups app, read once into one frozen, validated object."""

from dataclasses import dataclass, field
from pathlib import Path

from backups.errors import KeysUnusable
from backups.keys import KeyRing
from hubqueue.appsettings import mistyped, reader


@dataclass(frozen=True, slots=True)
class Conf:
    """Each field is the Django setting of the name in upper case. Times are seconds.

    ``backups_volume`` is the directory that local targets lie in; empty = there are none.
    ``backups_pg_bin`` is the directory of pg_dump, pg_restore and psql; empty = they are looked for.
    ``backups_timeout`` is for each wait for a target, ``backups_test_timeout`` for each of a test's.
    """

    backups_keys: str = field(default="", repr=False)
    backups_volume: str = ""
    backups_pg_bin: str = ""
    backups_timeout: float = 30.0
    backups_test_timeout: float = 10.0

    @property
    def keys(self) -> KeyRing:
        """The master keys: the first one writes, every one reads. Raises ``KeysUnusable``."""
        return KeyRing.parse(self.backups_keys)

    def problems(self) -> list[str]:
        """What cannot be used, one sentence each."""
        found = mistyped(self)
        if not found:
            try:
                KeyRing.parse(self.backups_keys)
            except KeysUnusable as unusable:
                found.append(str(unusable))
            if self.backups_volume and not Path(self.backups_volume).is_absolute():
                found.append("BACKUPS_VOLUME must be an absolute path, got a relative one.")
            if self.backups_pg_bin and not Path(self.backups_pg_bin).is_absolute():
                found.append("BACKUPS_PG_BIN must be an absolute path, got a relative one.")
        return found


conf = reader(Conf)
