"""The columns that name files, by the names that archives know them by."""

from collections.abc import Iterable

from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import Storage
from django.core.files.utils import validate_file_name

from backups.data.tables import Table

Storages = dict[str, Storage]


def storages_of(chosen: Iterable[Table]) -> Storages:
    """The storage of each file column that goes along, by ``app.Model.column``.

    An archive names the column and not the storage: where files are kept is each installation's own affair.
    """
    return {
        f"{table.label}.{field.column}": field.storage for table in chosen for field in table.files
    }


def refuse_outside(name: str) -> None:
    """Raise ``SuspiciousFileOperation`` for a name that leads out of a storage, whatever the storage thinks of it.

    And for one that Django's storages do not write as it is: with a backslash they make a slash of.
    """
    if "\\" in name or "\0" in name:
        raise SuspiciousFileOperation("A name of a file has a backslash or a zero byte in it.")
    validate_file_name(name, allow_relative_path=True)
