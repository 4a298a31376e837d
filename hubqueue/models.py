"""The rows of the queue and their constraints. No behaviour that moves a job lives here: see ``lifecycle/``."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce

from hubqueue.ids import uuid7
from hubqueue.querysets import FailureQuerySet, JobQuerySet, PauseQuerySet, WorkerQuerySet
from hubqueue.states import FINISHED, UNFINISHED, State, Stop

BYTEWISE = "C"


class Job(models.Model):
    """One piece of work. Only ``lifecycle/`` writes these rows after they were inserted.

    ``fence`` grows with every claim; every later write of that attempt must match it. ``tenant_id`` NULL
    is the installation's own work. ``run_at`` and all moments are on the database's clock.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(max_length=100, db_collation=BYTEWISE)
    queue = models.CharField(max_length=48, db_collation=BYTEWISE)
    priority = models.SmallIntegerField(default=0)
    tenant_id = models.CharField(max_length=64, null=True, blank=True, db_collation=BYTEWISE)
    payload = models.JSONField(default=dict)
    dedupe_key = models.CharField(max_length=200, null=True, blank=True, db_collation=BYTEWISE)
    state = models.CharField(
        max_length=9,
        choices=[(s.value, s.value.capitalize()) for s in State],
        db_collation=BYTEWISE,
    )
    run_at = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    max_attempts = models.IntegerField()
    failing_since = models.DateTimeField(null=True, blank=True)
    fence = models.BigIntegerField(default=0)
    claimed_by = models.UUIDField(null=True, blank=True)
    suspect = models.BooleanField(
        default=False, help_text="Was in flight when its worker died: runs next alone in its child."
    )
    rerun_at = models.DateTimeField(null=True, blank=True)
    stop_requested = models.CharField(max_length=6, null=True, blank=True, db_collation=BYTEWISE)
    progress = models.FloatField(null=True, blank=True)
    park_reason = models.CharField(max_length=200, null=True, blank=True)
    error_code = models.CharField(max_length=64, null=True, blank=True)
    result = models.JSONField(null=True, blank=True)
    meta = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    claimed_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        permissions = [
            ("park_job", "Can park a job"),
            ("release_job", "Can release a parked job"),
            ("run_now_job", "Can run a job now"),
            ("cancel_job", "Can cancel a job"),
            ("redrive_job", "Can redrive a dead letter"),
            ("dismiss_job", "Can dismiss a dead letter"),
            ("view_job_payload", "Can see the payload and result of a job"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "dedupe_key"],
                condition=Q(state__in=sorted(UNFINISHED), dedupe_key__isnull=False),
                name="hubqueue_job_dedupe",
            ),
            models.CheckConstraint(
                condition=Q(state__in=sorted(State)), name="hubqueue_job_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=sorted(FINISHED), finished_at__isnull=False)
                | Q(state__in=sorted(UNFINISHED), finished_at__isnull=True),
                name="hubqueue_job_finished_at",
            ),
            models.CheckConstraint(
                condition=Q(state=State.RUNNING, claimed_by__isnull=False)
                | (~Q(state=State.RUNNING) & Q(claimed_by__isnull=True)),
                name="hubqueue_job_claimed_by",
            ),
            models.CheckConstraint(
                condition=Q(stop_requested__isnull=True)
                | Q(state=State.RUNNING, stop_requested__in=sorted(Stop)),
                name="hubqueue_job_stop_requested",
            ),
            models.CheckConstraint(
                condition=Q(attempts__gte=0, max_attempts__gte=1), name="hubqueue_job_attempts"
            ),
            models.CheckConstraint(
                condition=Q(progress__isnull=True) | Q(progress__gte=0, progress__lte=1),
                name="hubqueue_job_progress",
            ),
            models.CheckConstraint(
                condition=Q(tenant_id__isnull=True) | ~Q(tenant_id=""), name="hubqueue_job_tenant"
            ),
        ]
        indexes = [
            # What the claim reads: READY rows only, oldest first, and by tenant for the turns.
            models.Index(
                fields=["queue", "priority", "run_at", "id"],
                condition=Q(state=State.READY, suspect=False),
                name="hubqueue_job_due",
            ),
            models.Index(
                "queue",
                "priority",
                Coalesce("tenant_id", models.Value("")),
                "run_at",
                "id",
                condition=Q(state=State.READY, suspect=False),
                name="hubqueue_job_turns",
            ),
            models.Index(
                fields=["queue", "run_at"],
                condition=Q(state=State.READY, suspect=True),
                name="hubqueue_job_suspects",
            ),
            models.Index(
                fields=["claimed_by"], condition=Q(state=State.RUNNING), name="hubqueue_job_running"
            ),
            models.Index(
                fields=["state", "id"],
                condition=Q(state__in=[State.DEAD, State.PARKED, State.CANCELLED]),
                name="hubqueue_job_exceptions",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class Worker(models.Model):
    """One child process of ``runworker``, under a new id at every start. It holds the lease of all its jobs."""

    id = models.UUIDField(primary_key=True, editable=False)
    host = models.CharField(max_length=255)
    pid = models.IntegerField()
    queues = models.JSONField(default=list)
    kinds = models.JSONField(default=list)
    solo = models.BooleanField(default=False, help_text="Runs suspects, one at a time.")
    sessions_visible = models.BooleanField(
        default=True, help_text="Whether its sessions can be seen in pg_stat_activity."
    )
    started_at = models.DateTimeField()
    lease_until = models.DateTimeField()

    objects = WorkerQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"


class Failure(models.Model):
    """One attempt that did not succeed. Safe to show: codes, class, SQLSTATE, constraint and frames, no message."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="failures")
    attempt = models.IntegerField()
    spent = models.BooleanField(default=True)
    code = models.CharField(max_length=64)
    exception = models.CharField(max_length=200, blank=True)
    sqlstate = models.CharField(max_length=5, blank=True)
    constraint = models.CharField(max_length=63, blank=True)
    frames = models.JSONField(default=list)
    message = models.CharField(
        max_length=500, blank=True, help_text="Only with HUBQUEUE_STORE_ERROR_MESSAGES."
    )
    worker = models.UUIDField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField()

    objects = FailureQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["failed_at"], name="hubqueue_failure_failed_at")]

    def __str__(self) -> str:
        return f"{self.code} (attempt {self.attempt})"


class Pause(models.Model):
    """Claims pass over what a pause names until it is resumed or ``until`` has come. What runs goes on."""

    class Scope(models.TextChoices):
        QUEUE = "queue"
        KIND = "kind"
        TENANT = "tenant"

    scope = models.CharField(max_length=6, choices=Scope.choices)
    value = models.CharField(max_length=100, db_collation=BYTEWISE)
    reason = models.CharField(max_length=200)
    paused_by = models.CharField(max_length=150)
    paused_at = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)

    objects = PauseQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope", "value"], name="hubqueue_pause_once")
        ]
        permissions = [("resume_pause", "Can resume what is paused")]

    def __str__(self) -> str:
        return f"{self.scope} {self.value}"


class PeriodicTick(models.Model):
    """One decided tick of a schedule: the record that makes it happen once. ``job_id`` NULL = skipped or first seen."""

    schedule = models.CharField(max_length=100, db_collation=BYTEWISE)
    at = models.DateTimeField()
    job_id = models.UUIDField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["schedule", "at"], name="hubqueue_tick_once")
        ]

    def __str__(self) -> str:
        return f"{self.schedule} {self.at:%Y-%m-%dT%H:%M%z}"


class Duty(models.Model):
    """When a duty of the scheduler last ran, so that a new leader keeps its cadence."""

    name = models.CharField(primary_key=True, max_length=100)
    ran_at = models.DateTimeField()
    succeeded_at = models.DateTimeField(null=True, blank=True)
    error_code = models.CharField(max_length=64, blank=True)

    class Meta:
        verbose_name_plural = "duties"

    def __str__(self) -> str:
        return self.name


class Leader(models.Model):
    """Who leads the schedulers, for people to read. The truth is the advisory lock; there is one row (id 1)."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    host = models.CharField(max_length=255)
    pid = models.IntegerField()
    since = models.DateTimeField()
    ticked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "leader"

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"


class Operation(models.Model):
    """The log entry of an officer's verb: who did what to which job, queue, kind or tenant, and why."""

    verb = models.CharField(max_length=20)
    target = models.CharField(max_length=200)
    job_id = models.UUIDField(null=True, blank=True, db_index=True)
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=200)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.verb} {self.target}"
