"""An account of the database with few rights, and the tests' own connection under its name."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, connections

from tests.support.workers import CHECKOUT

GRANT = re.compile(r"^GRANT .* ON ALL (?:TABLES|SEQUENCES) [^;]*;", re.MULTILINE)


def grants() -> list[str]:
    """What the documentation says a role needs."""
    return GRANT.findall((CHECKOUT / "docs" / "production.md").read_text())


def sql(*statements: str) -> None:
    with connection.cursor() as cursor:
        for each in statements:
            cursor.execute(each)


@contextmanager
def account() -> Iterator[str]:
    """One with the rights that docs/production.md gives. Accounts are the server's: other tests at once have others."""
    name = f"{connection.settings_dict['NAME']}_account"
    sql(
        f"DROP ROLE IF EXISTS {name}",  # of a process that was killed; its database is gone
        f"CREATE ROLE {name} LOGIN",
        *(each.replace("hubqueue_app", name) for each in grants()),
    )
    try:
        yield name
    finally:
        sql(f"DROP OWNED BY {name}", f"DROP ROLE {name}")


@contextmanager
def as_account(name: str) -> Iterator[None]:
    wrapper = type(connections["default"])
    params = wrapper.get_connection_params
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wrapper, "get_connection_params", lambda self: params(self) | {"user": name})
        connection.close()
        try:
            yield
        finally:
            connection.close()
