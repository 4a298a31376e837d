"""Keyed hashes: what the database holds in place of tokens, addresses and clients.

All are HMAC-SHA256 under keys derived from ``SECRET_KEY``, so a copy of the database tells nobody which address
or client a row belongs to, and a token cannot be made from one.
"""

import unicodedata
from typing import Any

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

TOKEN, ADDRESS, CLIENT, PERSON, ACCOUNT = (
    f"accounts.hashes.{name}" for name in ("token", "address", "client", "person", "account")
)


def keyed(purpose: str, value: str) -> str:
    """64 hexadecimal digits. The same value under another purpose has another hash."""
    return _keyed(purpose, value, settings.SECRET_KEY)


def keyed_under_any(purpose: str, value: str) -> list[str]:
    """The hash under the present key and under those it replaced."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [_keyed(purpose, value, key) for key in keys]


def address_key(address: str) -> str:
    """The hash of an address, whatever the case it is written in."""
    return keyed(ADDRESS, normalised(address))


def normalised(address: str) -> str:
    """The form in which two spellings of an address are compared."""
    return unicodedata.normalize("NFKC", address.strip()).casefold()


def stamp(person: Any) -> str:
    """A hash over what a link to this account rests on: another password or address makes another stamp."""
    return keyed(ACCOUNT, _ground(person))


def is_stamped(person: Any, kept: str) -> bool:
    """Whether the account is as it was when ``kept`` was its stamp."""
    present = keyed_under_any(ACCOUNT, _ground(person))
    return any(constant_time_compare(kept, each) for each in present)


def _ground(person: Any) -> str:
    address = getattr(person, person.get_email_field_name(), "") or ""
    return f"{person.pk}\0{person.password}\0{address}"


def _keyed(purpose: str, value: str, key: str | bytes) -> str:
    return salted_hmac(purpose, value, secret=key, algorithm="sha256").hexdigest()
