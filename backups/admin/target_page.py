"""What the page of a target says of how it stands."""

from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from backups.admin.meanings import meaning
from backups.models import BackupTarget
from backups.targets.credential import has_credential
from backups.targets.trial import OK
from hubqueue.admin import cells

HELD = (
    "It is not enabled since this database was restored from a copy: nothing is sent to it and nothing deleted there."
    " Enable it when the installation that was copied uses it no more, or give it a place of its own."
)
NOT_ENCRYPTED = "Archives at this target are not encrypted: whoever can read it reads all of them."


def standing_of(row: BackupTarget, now: datetime) -> list[SafeString | str]:
    said: list[SafeString | str] = []
    if row.encryption == BackupTarget.Encryption.NONE:
        accepted = format_html("{} accepted it {}.", row.plain_by, cells.when(row.plain_at, now))
        said += [NOT_ENCRYPTED, accepted]
    if row.held:
        said.append(HELD)
    elif not row.enabled:
        said.append("It is not enabled: nothing is sent to it.")
    if row.kind != BackupTarget.Kind.LOCAL:
        said.append("A credential is kept." if has_credential(row) else "No credential is kept.")
    if row.tested_at is None:
        said.append("It was never tested.")
    elif row.tested_code == OK:
        said.append(format_html("The last test went well, {}.", cells.when(row.tested_at, now)))
    else:
        said.append(
            format_html(
                "The last test failed {}: {}",
                cells.when(row.tested_at, now),
                meaning(row.tested_code),
            )
        )
    return said
