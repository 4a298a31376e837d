"""How the job table is kept: its vacuum settings, and whether vacuum keeps up. Reads statistics only."""

from collections.abc import Iterator

from hubqueue.doctor.finding import Finding, error, span, warning
from hubqueue.doctor.patient import Patient

DEAD = 200_000
THRESHOLD = "autovacuum_vacuum_threshold"
EARLY = (
    "ALTER TABLE hubqueue_job SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000,"
    " autovacuum_vacuum_cost_delay = 0)"
)
TABLE = """
SELECT coalesce(class.reloptions, '{}'), coalesce(stats.n_dead_tup, 0), coalesce(stats.n_live_tup, 0),
    extract(epoch FROM clock_timestamp() - greatest(stats.last_autovacuum, stats.last_vacuum))::float8
FROM pg_class AS class LEFT JOIN pg_stat_all_tables AS stats ON stats.relid = class.oid
WHERE class.oid = to_regclass('hubqueue_job')
"""


def look(patient: Patient) -> Iterator[Finding]:
    """The table's own settings, and its dead rows."""
    with patient.django() as cursor:
        cursor.execute(TABLE)
        options, dead, live, vacuumed = cursor.fetchone()
    own = dict(each.split("=", 1) for each in options)
    if own.get("autovacuum_enabled", "on").lower() in ("off", "false", "no", "0"):
        yield error(
            "table_not_vacuumed",
            expected="autovacuum on the table hubqueue_job",
            found="autovacuum_enabled = false: dead rows stay, the table grows and claims get slower",
            advice="ALTER TABLE hubqueue_job RESET (autovacuum_enabled)",
        )
    if float(own.get("autovacuum_vacuum_scale_factor", "0.2")) > 0 or THRESHOLD not in own:
        yield warning(
            "table_vacuumed_late",
            expected="the table hubqueue_job to be vacuumed after some thousand dead rows, as the migration sets it",
            found=f"the setting is gone ({', '.join(options) or 'no settings'})",
            advice=EARLY,
        )
    if dead > DEAD and dead > live:
        when = "never" if vacuumed is None else f"{span(vacuumed)} ago"
        yield warning(
            "dead_rows",
            expected=f"fewer than {DEAD:,} dead rows in hubqueue_job",
            found=f"{dead:,} beside {live:,} living ones, vacuumed {when}: vacuum does not keep up or is held back",
            advice="see to old transactions first, then VACUUM hubqueue_job",
        )
