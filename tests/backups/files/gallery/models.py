"""Rows that name files, in two storages."""

from django.db import models

from tests.backups.files.gallery.attic import Attic


class Album(models.Model):
    tenant_id = models.CharField(max_length=20)
    cover = models.FileField(blank=True, db_column="the cover")

    def __str__(self) -> str:
        return self.tenant_id


class Picture(models.Model):
    album = models.ForeignKey(Album, models.CASCADE)
    file = models.FileField(null=True, max_length=300)
    scan = models.FileField(storage=Attic(), blank=True)
    preview = models.FileField(blank=True)
    signed = models.FileField(blank=True)

    def __str__(self) -> str:
        return str(self.pk)
