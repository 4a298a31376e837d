"""A file of registrations on its way in: its content, how far it is, and what was wrong with it."""

from django.db import models
from django.db.models import Q

from hubqueue.ids import uuid7
from hubqueue.querysets import Now


class ImportRun(models.Model):
    """One uploaded file. ``records`` counts those read so far; a run goes on after them.

    The content is dropped when the run is finished; the report stays.
    """

    class State(models.TextChoices):
        UPLOADED = "uploaded"
        RUNNING = "running"
        DONE = "done"
        REFUSED = "refused"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    file_name = models.CharField(max_length=200)
    size = models.BigIntegerField(help_text="bytes")
    tenant_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 NULL = ours
    arm_leads = models.BooleanField(default=True, help_text="Generate leads of what comes in.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.UPLOADED)
    refusal = models.CharField(max_length=300, blank=True)
    records = models.IntegerField(default=0)
    imported = models.IntegerField(default=0)
    duplicates = models.IntegerField(default=0)
    bad = models.IntegerField(default=0)
    bytes_read = models.BigIntegerField(default=0)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        permissions = [("import_registrations", "Can import registrations from a file")]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["uploaded", "running", "done", "refused"]),
                name="leads_importrun_state",
            )
        ]
        indexes = [models.Index(fields=["-created_at"], name="leads_importrun_newest")]

    def __str__(self) -> str:
        return self.file_name


class ImportPiece(models.Model):
    """A piece of a file's bytes, so that no statement carries all of it."""

    run = models.ForeignKey(
        ImportRun, on_delete=models.CASCADE, related_name="pieces", db_index=False
    )
    number = models.IntegerField()
    content = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="leads_importpiece_once")
        ]

    def __str__(self) -> str:
        return f"piece {self.number}"


class ImportProblem(models.Model):
    """A record that was not imported: the line it starts on, and why. It holds nothing of the record."""

    run = models.ForeignKey(
        ImportRun, on_delete=models.CASCADE, related_name="problems", db_index=False
    )
    line = models.IntegerField()
    code = models.CharField(max_length=40)
    reason = models.CharField(max_length=300)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "line"], name="leads_importproblem_once")
        ]

    def __str__(self) -> str:
        return f"line {self.line}: {self.code}"
