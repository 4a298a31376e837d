"""Django's database backend for the embedded database."""

from collections.abc import Iterable
from typing import Any

from django.db.backends.postgresql import base
from django.db.backends.postgresql.client import DatabaseClient as PostgreSQLClient
from psycopg import OperationalError

from config.embedded import server
from config.embedded.cluster import DATABASE, USER


class DatabaseClient(PostgreSQLClient):
    """`dbshell` with the psql that came with the server."""

    def runshell(self, parameters: Iterable[str]) -> None:
        self.connection.get_connection_params()
        self.executable_name = str(server.programs() / "psql")
        super().runshell(parameters)


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL that is started by the first connection. Nothing else starts it."""

    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        """What psycopg needs to connect, with a server that runs.

        Connections that are not Django's own (LISTEN, a leader's lock) open themselves from
        these, so asking is what starts the server. The settings learn the address as well.
        """
        sockets = server.ensure()
        self.settings_dict["HOST"] = str(sockets)
        self.settings_dict["USER"] = USER
        self.settings_dict.setdefault("NAME", DATABASE)
        params: dict[str, Any] = super().get_connection_params()
        return params

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect; when the server went away since the parameters were read, ask once more."""
        try:
            return super().get_new_connection(conn_params)
        except OperationalError as error:
            if error.sqlstate is not None:
                raise
            return super().get_new_connection(conn_params | {"host": str(server.ensure())})
