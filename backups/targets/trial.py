"""Whether a target takes, gives back and deletes an object."""

from uuid import uuid4

from backups.conf import conf
from backups.errors import TargetError
from backups.models import BackupTarget
from backups.targets.opening import open_store
from hubqueue.querysets import Now

OK = "ok"


def try_target(target: BackupTarget) -> None:
    """Write a small object, read it back and delete it; the outcome is kept with the target.

    Raises the ``TargetError`` that it met, after its code was kept.
    """
    code = OK
    try:
        _round(target)
    except TargetError as met:
        code = met.code
        raise
    finally:
        BackupTarget.objects.filter(pk=target.pk).update(tested_at=Now(), tested_code=code)


def _round(target: BackupTarget) -> None:
    name, content = f"hubqueue-test-{uuid4().hex}", uuid4().bytes
    with open_store(target, timeout=conf().backups_test_timeout) as store:
        store.put(name, [content])
        if b"".join(store.get(name)) != content:
            raise TargetError("what was read back is not what was written")
        store.delete(name)
