"""What an archive holds."""

from django.db import models


class Content(models.TextChoices):
    """``ROWS``: the declared rows and their media. ``SYSTEM``: a dump of the whole database by ``pg_dump``."""

    ROWS = "rows", "Rows and media"
    SYSTEM = "system", "The whole database (pg_dump)"
