"""The officers' verbs about restores: of a run with an archive, and of a restore that is going on."""

from django import forms

from backups import restores
from backups.errors import BackupError
from backups.models import BackupRestore
from hubqueue.admin.ask import Verb
from hubqueue.admin.verbs import ReasonForm
from hubqueue.errors import MoveRefused

MAY = "backups.restore_backuprun"
STARTED = "the restore is queued; Restores shows how it goes."


class MergeForm(ReasonForm):
    """Why, and what becomes of rows that are there."""

    if_there = forms.ChoiceField(
        label="A row that is there already", choices=BackupRestore.IfThere.choices
    )


class NewTenantForm(ReasonForm):
    """Why, and who the new tenant is."""

    tenant = forms.CharField(
        label="The new tenant's name",
        max_length=restores.LONGEST,
        strip=False,
        help_text="A name that no row here has.",
    )


INSPECT = Verb(
    word="inspect",
    label="Look into it",
    explanation="The archive is read and compared with what is here. Nothing is written.",
    permission=MAY,
    done=STARTED,
    do=lambda row, actor, reason: restores.start(row, mode="inspect", actor=actor, reason=reason),
    refusal=BackupError,
)
MERGE = Verb(
    word="merge",
    label="Merge",
    explanation="Rows of the archive are added to those of the tenant. Nothing is taken away; no copy is made first.",
    permission=MAY,
    done=STARTED,
    do=lambda row, actor, reason, if_there: restores.start(
        row, mode="merge", if_there=if_there, actor=actor, reason=reason
    ),
    refusal=BackupError,
    form=MergeForm,
)
REPLACE = Verb(
    word="replace",
    label="Replace",
    explanation=(
        "All rows of the tenant are taken away and those of the archive are written. A copy of what is there is made"
        " first. The tenant's jobs are parked, and it is paused until the end. Nobody should work on its rows then."
        " Type the tenant's name."
    ),
    permission=MAY,
    done=STARTED,
    do=lambda row, actor, reason: restores.start(row, mode="replace", actor=actor, reason=reason),
    refusal=BackupError,
    typed=lambda row: row.tenant or "",
)
NEW_TENANT = Verb(
    word="copy",
    label="As a new tenant",
    explanation=(
        "The rows of the archive are written once more, under new keys, as those of a tenant that is not there yet."
        " Nothing that is here changes."
    ),
    permission=MAY,
    done=STARTED,
    do=lambda row, actor, reason, tenant: restores.start(
        row, mode="new_tenant", tenant=tenant, actor=actor, reason=reason
    ),
    refusal=BackupError,
    form=NewTenantForm,
)
CANCEL = Verb(
    word="cancel",
    label="Cancel",
    explanation=(
        "It stops after the batch at hand; what it wrote stays, but that of a new tenant is taken away again. A tenant"
        " whose rows were being replaced stays paused: restore it again."
    ),
    permission="backups.cancel_backuprestore",
    done="it is asked to stop.",
    do=lambda row, actor, reason: restores.cancel(row, actor=actor, reason=reason),
    refusal=(BackupError, MoveRefused),
)
