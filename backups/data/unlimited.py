"""A transaction may take as long as it takes, whatever limits are set for the account."""

from django.db.backends.base.base import BaseDatabaseWrapper

LIMITS = ("statement_timeout", "idle_in_transaction_session_timeout")
TRANSACTION_LIMIT = "transaction_timeout"  # since PostgreSQL 17
HAS_TRANSACTION_LIMIT = 170_000


def unlimit(connection: BaseDatabaseWrapper) -> None:
    """Lift the server's limits of time until the end of the open transaction."""
    with connection.cursor() as cursor:
        assert connection.connection is not None
        for name in LIMITS:
            cursor.execute(f"SET LOCAL {name} = 0")
        if connection.connection.info.server_version >= HAS_TRANSACTION_LIMIT:
            cursor.execute(f"SET LOCAL {TRANSACTION_LIMIT} = 0")
