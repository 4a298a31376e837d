"""What this installation calls itself at a target, where others may have archives too."""

from collections.abc import Iterator
from hmac import compare_digest

from django.conf import settings
from django.utils.crypto import salted_hmac


def own_name() -> str:
    """64 hexadecimal digits, made of SECRET_KEY: the same after the database was lost, and no secret."""
    return next(_names())


def is_own(name: str) -> bool:
    """Whether this installation calls itself so, or did under a key in SECRET_KEY_FALLBACKS."""
    return any(compare_digest(each.encode(), name.encode()) for each in _names())


def _names() -> Iterator[str]:
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        yield salted_hmac("backups.installation", "", key, algorithm="sha256").hexdigest()
