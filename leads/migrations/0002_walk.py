"""What the database itself keeps for the walk: who wrote a registration last, and fit tables."""

from django.db import migrations

STAMP = """
CREATE FUNCTION leads_stamp_registration() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.changed_xid := pg_current_xact_id()::text::bigint;
    RETURN NEW;
END $$;

CREATE TRIGGER leads_registration_stamp BEFORE INSERT OR UPDATE ON leads_registration
    FOR EACH ROW EXECUTE FUNCTION leads_stamp_registration();

-- An answer counts as a change of its registration. Rows that this transaction wrote already carry its number.
CREATE FUNCTION leads_stamp_answered() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine CONSTANT bigint := pg_current_xact_id()::text::bigint;
BEGIN
    UPDATE leads_registration SET changed_xid = mine
    WHERE id IN (SELECT registration_id FROM changed) AND changed_xid <> mine;
    RETURN NULL;
END $$;

CREATE TRIGGER leads_answer_inserted AFTER INSERT ON leads_registrationanswer
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION leads_stamp_answered();
CREATE TRIGGER leads_answer_updated AFTER UPDATE ON leads_registrationanswer
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION leads_stamp_answered();
CREATE TRIGGER leads_answer_deleted AFTER DELETE ON leads_registrationanswer
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION leads_stamp_answered();
"""

UNSTAMP = """
DROP TRIGGER leads_answer_deleted ON leads_registrationanswer;
DROP TRIGGER leads_answer_updated ON leads_registrationanswer;
DROP TRIGGER leads_answer_inserted ON leads_registrationanswer;
DROP FUNCTION leads_stamp_answered();
DROP TRIGGER leads_registration_stamp ON leads_registration;
DROP FUNCTION leads_stamp_registration();
"""

# Arms live for seconds and requests are rewritten with every page: they are swept early, and a page's
# stamp finds room beside the old row.
STORAGE = """
ALTER TABLE leads_leadarm SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
ALTER TABLE leads_leadrequest SET (
    fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
ALTER TABLE leads_leadprovenance SET (fillfactor = 80);
"""

UNSTORAGE = """
ALTER TABLE leads_leadarm RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
ALTER TABLE leads_leadrequest RESET (
    fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
ALTER TABLE leads_leadprovenance RESET (fillfactor);
"""


class Migration(migrations.Migration):
    dependencies = [("leads", "0001_leads")]

    operations = [
        migrations.RunSQL(STAMP, UNSTAMP),
        migrations.RunSQL(STORAGE, UNSTORAGE),
    ]
