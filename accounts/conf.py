"""The settings of the accounts app."""

import ipaddress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hubqueue.appsettings import mistyped, reader


@dataclass(frozen=True, slots=True)
class Conf:
    """Each field is the Django setting of the name in upper case. Counts are per window, which is minutes long.

    ``accounts_trusted_proxies``: networks whose word about who the client is counts (``X-Forwarded-For``),
    and ``"unix"`` for a proxy on a Unix socket. Nobody else's does.
    """

    accounts_link_minutes: int = 30
    accounts_window_minutes: int = 15
    accounts_asks_per_address: int = 3
    accounts_asks_per_client: int = 20
    accounts_tries_per_person: int = 10
    accounts_logins_per_account: int = 5
    accounts_logins_per_client: int = 30
    accounts_trusted_proxies: tuple[str, ...] = ()

    @property
    def link_life(self) -> timedelta:
        return timedelta(minutes=self.accounts_link_minutes)

    @property
    def window(self) -> timedelta:
        return timedelta(minutes=self.accounts_window_minutes)

    def problems(self) -> list[str]:
        """What cannot be used, one sentence each."""
        found = mistyped(self)
        if not found:
            found += [
                f"ACCOUNTS_TRUSTED_PROXIES must hold networks such as 10.0.0.0/8, or unix; got {each!r}."
                for each in self.accounts_trusted_proxies
                if not _is_proxy(each)
            ]
        return found


conf = reader(Conf)


def _is_proxy(given: Any) -> bool:
    try:
        return given == "unix" or bool(ipaddress.ip_network(given))
    except ValueError:
        return False
