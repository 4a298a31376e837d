"""How often a password was wrong, and until when nobody may try again."""

from django.db import models


class Guess(models.Model):
    """``count`` wrong passwords of late; ``key`` is the keyed hash of whose. None is taken before ``until``."""

    key = models.CharField(primary_key=True, max_length=64)
    count = models.IntegerField()
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"guess {self.key[:8]}"
