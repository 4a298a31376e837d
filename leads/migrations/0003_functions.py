"""What every registration asks of the database: functions, planned once per session, and no needless check."""

import django.db.models.deletion
from django.db import migrations, models

# An arm, and an open request for it. A request that another transaction holds or is about to insert is left
# to it: an arm alone is enough to be found by the pass, so nothing here ever waits.
ARM = """
CREATE FUNCTION leads_arm_if_ruled(armed uuid, given text[], armed_by text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO leads_leadarm (event_id, trigger)
    SELECT armed, moment FROM unnest(given) AS moment
    WHERE EXISTS (
        SELECT FROM leads_leadrule AS rule
        WHERE rule.active AND (rule.event_id IS NULL OR rule.event_id = armed)
            AND CASE moment WHEN 'created' THEN rule.on_create WHEN 'confirmed' THEN rule.on_confirm
                WHEN 'done' THEN rule.on_done END);
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM leads_leadrequest WHERE event_id = armed AND NOT done) THEN
        RETURN true;
    END IF;
    UPDATE leads_leadrequest SET done = false, updated_at = hubqueue_now(), updated_by = armed_by
    WHERE id IN (
        SELECT id FROM leads_leadrequest WHERE event_id = armed AND done
        FOR NO KEY UPDATE SKIP LOCKED);
    IF NOT EXISTS (SELECT FROM leads_leadrequest WHERE event_id = armed) THEN
        INSERT INTO leads_leadrequest (id, event_id, done, created_by, updated_by)
        SELECT gen_random_uuid(), armed, false, armed_by, armed_by
        WHERE pg_try_advisory_xact_lock(hashtextextended(armed::text, 20417))
        ON CONFLICT (event_id) DO NOTHING;
    END IF;
    RETURN true;
END $$;
"""

# Waiting for its start or for a retry, or due again after the run that is on. The unfinished states are written
# out, so that the partial index of dedupe keys serves it.
COMING = """
CREATE FUNCTION leads_pass_is_coming(wanted text, key text) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM hubqueue_job
        WHERE kind = wanted AND dedupe_key = key AND state IN ('PARKED', 'READY', 'RUNNING')
            AND CASE state
                WHEN 'READY' THEN run_at <= hubqueue_now() OR attempts > 0
                WHEN 'RUNNING' THEN rerun_at <= hubqueue_now()
                ELSE true
            END);
END $$;
"""

DROP = """
DROP FUNCTION leads_pass_is_coming(text, text);
DROP FUNCTION leads_arm_if_ruled(uuid, text[], text);
"""


class Migration(migrations.Migration):
    dependencies = [("leads", "0002_walk")]

    operations = [
        migrations.AlterField(
            model_name="leadarm",
            name="event",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="arms",
                to="leads.event",
            ),
        ),
        migrations.RunSQL(ARM + COMING, DROP),
    ]
