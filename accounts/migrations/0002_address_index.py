from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import migrations, models
from django.db.models.functions import Upper

NAME = "accounts_person_address"


def index(apps: Any) -> tuple[Any, models.Index]:
    """On the table of accounts, whichever it is: people are looked up by address whatever its case."""
    model = apps.get_model(settings.AUTH_USER_MODEL)
    field = get_user_model().get_email_field_name()
    return model, models.Index(Upper(field), name=NAME)


def add(apps: Any, schema_editor: Any) -> None:
    schema_editor.add_index(*index(apps))


def remove(apps: Any, schema_editor: Any) -> None:
    schema_editor.remove_index(*index(apps))


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0001_accounts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [migrations.RunPython(add, remove)]
