"""What decides about the lines of an archive beside the rows themselves."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from backups.data.tables import Table


def options_of(chosen: Sequence[Table]) -> str:
    """A digest of the tables, their columns and their declarations: lines under another one are other lines."""
    told = [(table.label, table.columns, table.declared) for table in chosen]
    return sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()
