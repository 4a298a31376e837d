"""The settings of the backups app, read once into one frozen, validated object."""

from dataclasses import dataclass, field

from backups.archive.keys import KeyRing
from backups.errors import KeysUnusable
from hubqueue.appsettings import mistyped, reader


@dataclass(frozen=True, slots=True)
class Conf:
    """Each field is the Django setting of the name in upper case."""

    backups_keys: str = field(default="", repr=False)

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
        return found


conf = reader(Conf)
