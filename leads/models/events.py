"""The smallest real neighbours: events, their registrations, and what people answered."""

from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from hubqueue.ids import uuid7
from hubqueue.querysets import Now


def check_time_zone(name: str) -> None:
    """Refuse what is no name of the IANA time zone database."""
    if name not in available_timezones():
        raise ValidationError(
            "Expected the name of a time zone such as Europe/Berlin; choose one of the IANA list.",
            code="time_zone",
        )


class EventType(models.Model):
    """A kind of event: conference, webinar, ..."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=100, unique=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Event(models.Model):
    """What people register for. Its time zone decides which day a registration belongs to.

    ``code`` is the event's name in files, unique in its tenant. ``company_id`` is the organising
    company's id in the CRM.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    code = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    type = models.ForeignKey(EventType, on_delete=models.PROTECT, null=True, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC", validators=[check_time_zone])
    company_id = models.UUIDField(null=True, blank=True)
    tenant_id = models.CharField(max_length=64, null=True, blank=True)  # noqa: DJ001 NULL = ours

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant_id", "code"],
                condition=Q(tenant_id__isnull=False),
                name="leads_event_code_of_tenant",
            ),
            models.UniqueConstraint(
                fields=["code"], condition=Q(tenant_id__isnull=True), name="leads_event_code"
            ),
            models.CheckConstraint(
                condition=Q(tenant_id__isnull=True) | ~Q(tenant_id=""), name="leads_event_tenant"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.name}"

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)


class RegistrationQuerySet(models.QuerySet["Registration"]):
    def eligible(self, *, done_only: bool = False) -> "RegistrationQuerySet":
        """Active ones that are open or done, or done only."""
        states = ["done"] if done_only else ["open", "done"]
        return self.filter(active=True, state__in=states)


class Registration(models.Model):
    """One person's registration for one event.

    ``changed_xid`` is the transaction that last wrote the row or one of its answers; a trigger of the
    database keeps it. It lets a walk start where the last complete one began (see ``WalkMark``).
    ``import_key`` is what makes a row of a file the same registration on a second import.
    """

    class State(models.TextChoices):
        DRAFT = "draft"
        OPEN = "open"
        DONE = "done"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    event = models.ForeignKey(
        Event, on_delete=models.CASCADE, related_name="registrations", db_index=False
    )
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN)
    active = models.BooleanField(default=True)
    name = models.CharField(max_length=200)
    email = models.CharField(max_length=254, blank=True)
    phone = models.CharField(max_length=50, blank=True)
    company_name = models.CharField(max_length=200, blank=True)
    partner_id = models.CharField(max_length=64, blank=True)
    sale_order_id = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    import_key = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001
    changed_xid = models.BigIntegerField(db_default=0, editable=False)

    objects = RegistrationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["draft", "open", "done", "cancelled"]),
                name="leads_registration_state",
            ),
            models.UniqueConstraint(
                fields=["event", "import_key"],
                condition=Q(import_key__isnull=False),
                name="leads_registration_imported_once",
            ),
        ]
        indexes = [
            models.Index(fields=["event", "-created_at"], name="leads_registration_of_event"),
            models.Index(
                fields=["event", "changed_xid", "id"],
                condition=Q(active=True, state__in=["open", "done"]),
                name="leads_registration_walk",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Question(models.Model):
    """Something people are asked when they register."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    title = models.CharField(max_length=200, unique=True)

    class Meta:
        ordering = ["title"]

    def __str__(self) -> str:
        return self.title


class Answer(models.Model):
    """One of the answers a question offers."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    question = models.ForeignKey(
        Question, on_delete=models.CASCADE, related_name="answers", db_index=False
    )
    title = models.CharField(max_length=200)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "title"], name="leads_answer_once")
        ]

    def __str__(self) -> str:
        return self.title


class RegistrationAnswer(models.Model):
    """What one registration answered to one question."""

    registration = models.ForeignKey(
        Registration, on_delete=models.CASCADE, related_name="answers", db_index=False
    )
    question = models.ForeignKey(Question, on_delete=models.PROTECT)
    answer = models.ForeignKey(Answer, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["registration", "question"], name="leads_registrationanswer_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.question_id}: {self.answer_id}"
