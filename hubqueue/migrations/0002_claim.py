"""The claim, and what it is made of. It has a migration of its own so that it stands in one place when it changes."""

from pathlib import Path

from django.db import migrations

CLAIM = (Path(__file__).parent / "sql" / "0002_claim.sql").read_text(encoding="utf-8")
DROP = """
DROP FUNCTION hubqueue_claim;
DROP FUNCTION hubqueue_claim_lane;
DROP FUNCTION hubqueue_turns;
"""


class Migration(migrations.Migration):
    dependencies = [("hubqueue", "0001_jobs")]

    operations = [migrations.RunSQL(CLAIM, reverse_sql=DROP)]
