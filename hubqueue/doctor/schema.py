"""Whether the tables are those this code knows, and the role may work with them."""

from collections.abc import Iterator

from hubqueue.doctor.finding import Finding, error, names
from hubqueue.doctor.origin import identifier
from hubqueue.doctor.patient import Patient
from hubqueue.probes import missing_migrations

DENIED = """
SELECT class.relname, current_user, string_agg(wanted.privilege, ', ' ORDER BY wanted.privilege)
FROM pg_class AS class, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS wanted (privilege)
WHERE class.relkind = 'r' AND class.relname LIKE 'hubqueue\\_%%' AND pg_table_is_visible(class.oid)
    AND NOT has_table_privilege(class.oid, wanted.privilege)
GROUP BY class.relname ORDER BY class.relname
"""
BROKEN_INDEX = """
SELECT class.relname FROM pg_index AS entry JOIN pg_class AS class ON class.oid = entry.indexrelid
WHERE entry.indrelid IN (SELECT oid FROM pg_class WHERE relname LIKE 'hubqueue\\_%%' AND pg_table_is_visible(oid))
    AND NOT (entry.indisvalid AND entry.indisready) ORDER BY 1
"""
UNLOGGED = """
SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'hubqueue\\_%%' AND pg_table_is_visible(oid)
    AND relpersistence = 'u' ORDER BY 1
"""
MISSING = "schema_missing"


def look(patient: Patient) -> Iterator[Finding]:
    """Migrations, privileges, and the state of tables and indexes."""
    with patient.django() as cursor:
        missing = missing_migrations(cursor)
        if missing == ["hubqueue"]:
            yield error(
                MISSING,
                expected="the tables of the queue in this database",
                found="none: it is another database, or a new one",
                advice="correct the database name, or manage.py migrate",
            )
            return
        if missing:
            yield error(
                "schema_behind",
                expected="every migration that this code knows",
                found=f"not applied: {names(missing)}; workers claim nothing until it is",
                advice="manage.py migrate",
            )
        cursor.execute(DENIED, [])
        denied = cursor.fetchall()
        if denied:
            user, tables = denied[0][1], [row[0] for row in denied]
            yield error(
                "role_lacks_rights",
                expected=f"that {user} may read and write every table of the queue",
                found=f"no {denied[0][2]} on {names(tables)}",
                advice="GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public"
                f" TO {identifier(user)}",
            )
        cursor.execute(BROKEN_INDEX, [])
        if broken := [row[0] for row in cursor.fetchall()]:
            yield error(
                "index_invalid",
                expected="valid indexes on the tables of the queue",
                found=f"{names(broken)} left behind by a build that failed",
                advice=f"REINDEX INDEX CONCURRENTLY {identifier(broken[0])}",
            )
        cursor.execute(UNLOGGED, [])
        if unlogged := [row[0] for row in cursor.fetchall()]:
            yield error(
                "table_unlogged",
                expected="tables that a crash of the server leaves whole",
                found=f"{names(unlogged)} UNLOGGED: a crash empties them",
                advice=f"ALTER TABLE {identifier(unlogged[0])} SET LOGGED",
            )
