"""The log lines of backups: ids, codes and numbers, never what a target answered."""

import logging
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from backups.signals import (
    archive_expired,
    archive_verified,
    archives_swept,
    deletion_failed,
    expiry_failed,
    restore_ended,
    target_failed,
)

logger = logging.getLogger("backups")


@receiver(archive_expired, dispatch_uid="backups.logs.expired")
def log_expired(*, run_id: UUID, **_: Any) -> None:
    logger.info("archive of run %s expired", run_id)


@receiver(deletion_failed, dispatch_uid="backups.logs.deletion_failed")
def log_deletion_failed(*, run_id: UUID | None, code: str, **_: Any) -> None:
    logger.warning("an archive was not deleted: %s, of run %s", code, run_id or "-")


@receiver(expiry_failed, dispatch_uid="backups.logs.expiry_failed")
def log_expiry_failed(*, schedule_id: UUID, code: str, **_: Any) -> None:
    logger.error("archives of schedule %s did not expire: %s", schedule_id, code)


@receiver(archives_swept, dispatch_uid="backups.logs.swept")
def log_swept(*, target_id: UUID, count: int, **_: Any) -> None:
    logger.info("%d unfinished archives deleted at target %s", count, target_id)


@receiver(target_failed, dispatch_uid="backups.logs.target_failed")
def log_target_failed(*, target_id: UUID, code: str, **_: Any) -> None:
    logger.warning("target %s was not swept: %s", target_id, code)


@receiver(restore_ended, dispatch_uid="backups.logs.restore")
def log_restore(*, restore_id: UUID, mode: str, state: str, code: str, **_: Any) -> None:
    logger.log(
        logging.ERROR if state == "FAILED" else logging.INFO,
        "restore %s (%s) ended: %s %s",
        *(restore_id, mode, state, code or "-"),
    )


@receiver(archive_verified, dispatch_uid="backups.logs.verified")
def log_verified(*, run_id: UUID, sound: bool, codes: list[str], **_: Any) -> None:
    if not sound:
        logger.error("archive of run %s is not sound: %s", run_id, ", ".join(codes))
