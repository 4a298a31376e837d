"""How often something was asked for lately."""

from django.db import models


class Tally(models.Model):
    """``count`` times since ``since``, by whom or for what ``key`` is the keyed hash of."""

    key = models.CharField(primary_key=True, max_length=64)
    since = models.DateTimeField(db_index=True)
    count = models.IntegerField()

    def __str__(self) -> str:
        return f"tally {self.key[:8]}"
