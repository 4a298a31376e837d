"""Secrets: demanded in production, made once and kept on a laptop."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

from backups.keys import MasterKey
from config.embedded.home import own_directory

BACKUP_KEYS = "backup-keys"


def required_secret(given: str) -> str:
    """The key from the environment. Raises `ImproperlyConfigured` when it is missing or weak."""
    if len(given) < 50 or len(set(given)) < 5 or given.startswith("django-insecure-"):
        found = f"{len(given)} characters" if given else "nothing"
        raise ImproperlyConfigured(
            "SECRET_KEY must be set in production to at least 50 random characters, got "
            f"{found}; make one with "
            "`python -c 'import secrets; print(secrets.token_urlsafe(50))'`."
        )
    return given


def kept_secret() -> str:
    """The key of this checkout, made on first use; only its owner can read the file."""
    return _kept("secret-key", get_random_secret_key)


def kept_backup_keys() -> str:
    """The master keys of this checkout's backups, in the form of BACKUPS_KEYS: kept as the secret key is."""
    return _kept(BACKUP_KEYS, lambda: MasterKey.new().text)


def _kept(name: str, made: Callable[[], str]) -> str:
    path = own_directory() / name
    try:
        return path.read_text()
    except FileNotFoundError:
        return _make(path, made())


def _make(path: Path, secret: str) -> str:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")  # mode 0600
    with os.fdopen(descriptor, "w") as file:
        file.write(secret)
    try:
        os.link(temporary, path)  # fails when a rival was first, so all end with one key
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)
    return path.read_text()
