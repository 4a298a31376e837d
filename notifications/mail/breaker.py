"""When the server refuses us, all mail waits: one job looks from time to time and lets it go on."""

from datetime import timedelta

from django.db import connections, router, transaction

from hubqueue import officers
from hubqueue.api import Backoff, Done, JobContext, Result, Retry, handler
from hubqueue.models import Pause
from hubqueue.policy import SPREAD
from hubqueue.querysets import database_now
from hubqueue.registry import registry
from notifications.mail.faults import MailFault
from notifications.mail.sending import try_sender
from notifications.signals import sender_paused, sender_resumed

ACTOR = "mail"
PROBE = "notifications.probe_sender"
GAPS = Backoff(base=timedelta(minutes=1), cap=timedelta(minutes=30))
# A pause outlasts the look that would end it, and ends by itself when nobody looks.
MARGIN = timedelta(minutes=5)
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('notifications.mail.breaker'))"


def pause_sending(fault: MailFault) -> None:
    """Pause every kind that sends mail, but those an officer has paused, and have somebody look again."""
    with transaction.atomic(using=_using()):
        # The job's row before the turn, as by a look that ends: the other order would be a deadlock.
        probe.using(dedupe_key=ACTOR, run_at=database_now(_using()) + GAPS.ceiling(1)).enqueue()
        _wait_for_others()
        kinds = [each for each in mail_kinds() if each not in _paused()]
        if kinds:
            _pause(kinds, fault, GAPS.ceiling(1))


@handler(
    PROBE,
    detached=True,
    queue="mail",
    max_attempts=2**31 - 1,
    timeout=timedelta(minutes=5),
)
def probe(job: JobContext) -> Result:
    """Log in and name ourselves as the sender. Once that is taken, mail goes on; nothing is sent here."""
    try:
        try_sender()
    except MailFault as fault:
        gap = GAPS.ceiling(job.attempt + 1)
        with job.transaction():
            _wait_for_others()
            _pause(_paused_by_us(), fault, gap)
        return Retry(after=gap, code=fault.code)
    return Done(record=_resume)


def mail_kinds() -> list[str]:
    """Every kind and alias that talks to the mail server, but the one that looks."""
    return sorted(
        kind
        for kind, each in registry.by_kind.items()
        if each.queue == "mail" and each.detached and each.kind != PROBE
    )


def _pause(kinds: list[str], fault: MailFault, gap: timedelta) -> None:
    until = database_now(_using()) + gap * (1 + SPREAD) + MARGIN
    reason = f"{fault} Looked at again in {gap.total_seconds() / 60:.0f} min."
    for kind in kinds:
        officers.pause("kind", kind, actor=ACTOR, reason=reason, until=until)
    if kinds:
        sender_paused.send_robust(
            sender=None, code=fault.code, kinds=kinds, seconds=gap.total_seconds()
        )


def _resume() -> None:
    _wait_for_others()
    kinds = _paused_by_us()
    for kind in kinds:
        officers.resume("kind", kind, actor=ACTOR, reason="The mail server takes our mail again.")
    if kinds:
        sender_resumed.send_robust(sender=None, kinds=kinds)


def _paused() -> set[str]:
    standing = Pause.objects.in_force().filter(scope=Pause.Scope.KIND)
    return set(standing.values_list("value", flat=True))


def _paused_by_us() -> list[str]:
    """Locked, so that no officer makes one their own meanwhile."""
    ours = Pause.objects.filter(scope=Pause.Scope.KIND, paused_by=ACTOR, value__in=mail_kinds())
    return list(ours.order_by("value").select_for_update().values_list("value", flat=True))


def _wait_for_others() -> None:
    with connections[_using()].cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)


def _using() -> str:
    return router.db_for_write(Pause)
