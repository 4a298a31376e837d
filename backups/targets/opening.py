"""From the row of a target to one that is open."""

from importlib import import_module

from backups.conf import conf
from backups.errors import KindUnknown, KindWithoutAdapter, PackageMissing
from backups.models import BackupTarget
from backups.targets.config import config_of
from backups.targets.credential import read_credential
from backups.targets.open_target import OpenTarget

# Imported when one is opened: what s3 and sftp need is an extra.
ADAPTERS = {
    "local": "backups.targets.local",
    "s3": "backups.targets.s3",
    "sftp": "backups.targets.sftp",
    "webdav": "backups.targets.webdav",
}
OF_THE_EXTRA = {"obstore", "paramiko"}


def open_store(target: BackupTarget, *, timeout: float | None = None) -> OpenTarget:
    """The target, ready to be used by one thread; the caller closes it. Whether it is enabled is not asked.

    ``timeout`` in seconds is for each wait; None = the setting BACKUPS_TIMEOUT. Raises ``KindUnknown``,
    ``KindWithoutAdapter``, ``PackageMissing``, ``ConfigRefused``, ``CredentialSealed``, and what the
    adapter meets when it connects.
    """
    kind = str(target.kind)
    if kind not in BackupTarget.Kind.values:
        known = ", ".join(BackupTarget.Kind.values)
        raise KindUnknown(f"expected a kind of target that is known ({known}), got {kind!r}")
    if kind not in ADAPTERS:
        raise KindWithoutAdapter(
            f"targets of kind {kind} are known, but this version cannot speak to them"
        )
    try:
        adapter = import_module(ADAPTERS[kind])
    except ModuleNotFoundError as missing:
        if missing.name not in OF_THE_EXTRA:
            raise
        raise PackageMissing(
            f"targets of kind {kind} need the package {missing.name}; install hubqueue[backups]"
        ) from None
    config = config_of(kind, target.config)
    secret = read_credential(target)
    found: OpenTarget = adapter.opened(
        config, secret, timeout or conf().backups_timeout, conf().backups_volume
    )
    return found
