"""What this app refuses or cannot do, each with a stable code and a sentence that holds no secret."""


class BackupError(Exception):
    """``code`` is stable. ``passing``: the same may go well later, without anybody doing anything."""

    code = "backups.error"
    passing = False


class TargetError(BackupError):
    """A target did not do what was asked of it."""

    code = "backups.target_failed"


class TargetUnreachable(TargetError):
    """No answer, an answer that was cut, or a server that is out of order."""

    code = "backups.target_unreachable"
    passing = True


class TargetRefused(TargetError):
    """The credential, the host key or the configuration is not accepted."""

    code = "backups.target_refused"


class TargetFull(TargetError):
    """There is no room left."""

    code = "backups.target_full"


class ObjectMissing(TargetError):
    """There is no object of this name."""

    code = "backups.object_missing"


class ObjectKept(TargetError):
    """The target does not delete this object (a lock, a missing right)."""

    code = "backups.object_kept"
