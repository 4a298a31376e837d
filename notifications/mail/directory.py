"""A directory that stands for a mail server: each message a file, there whole or not at all."""

import os
import tempfile
from pathlib import Path

from django.utils import timezone
from django.utils.text import get_valid_filename

from notifications.mail.faults import Stage, TryLater


def store(directory: Path, message_id: str, wire: bytes) -> None:
    """Write ``<moment>-<message id>.eml``, readable by its owner only. Raises ``TryLater``."""
    name = f"{timezone.now():%Y%m%dT%H%M%S.%f}-{get_valid_filename(message_id.strip('<>'))}.eml"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, unfinished = tempfile.mkstemp(dir=directory, prefix=".", suffix=".tmp")
        with os.fdopen(descriptor, "wb") as file:
            file.write(wire)
        os.replace(unfinished, directory / name)
    except OSError:
        raise TryLater(Stage.DATA, code="mail.directory_unwritable") from None
