"""The settle, which stands in a place of its own as the claim does."""

from pathlib import Path

from django.db import migrations

SETTLE = (Path(__file__).parent / "sql" / "0003_settle.sql").read_text(encoding="utf-8")

DROP = "DROP FUNCTION hubqueue_settle_last; DROP FUNCTION hubqueue_settle;"


class Migration(migrations.Migration):
    dependencies = [("hubqueue", "0002_claim")]

    operations = [migrations.RunSQL(SETTLE, reverse_sql=DROP)]
