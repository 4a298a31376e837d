"""A PostgreSQL of this checkout's own: started by the first connection, stopped after the last.

Used as `ENGINE = "config.embedded"` when `DATABASE_URL` is not set. `docs/stack.md` tells how
the processes find each other; `python -m config.embedded COMMAND` runs `pg_dump`, `psql` and the
like against it.
"""
