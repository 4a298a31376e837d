"""What is backed up of backups, as plain data: nothing, so that a restore needs nothing but the target and the key.

What archives there are stands at the targets. A restored installation must not start to write to, and to delete at,
the targets of the one it was copied from before a person has said so: in a copy of the whole database, which has them,
nothing of it is enabled.
"""

BACKUP = ()

LEFT_OUT = {
    "backups.BackupTarget": "It is entered anew, with its credential, where archives are restored.",
    "backups.BackupSchedule": "It would run, and delete archives, at targets of another installation.",
    "backups.Tombstone": "Numbers of transactions of this server; an archive holds its own deletions.",
    "backups.BackupRun": "What archives there are is told by the target.",
    "backups.BackupRestore": "It belongs to runs, and to the installation whose rows it writes.",
    "backups.RestoreKey": "It belongs to a restore.",
    "backups.NewKey": "It belongs to a restore.",
}

_HELD = "UPDATE {table} SET held = true WHERE enabled AND {{rows}}"
_DISABLED = "UPDATE {table} SET enabled = false WHERE enabled AND {{rows}}"

QUIET = {
    "backups.BackupTarget": (
        {"sql": _HELD.format(table="backups_backuptarget"), "since": "0010_held"},
        {"sql": _DISABLED.format(table="backups_backuptarget"), "since": "0001_targets"},
    ),
    "backups.BackupSchedule": (
        {"sql": _HELD.format(table="backups_backupschedule"), "since": "0010_held"},
        {"sql": _DISABLED.format(table="backups_backupschedule"), "since": "0002_runs"},
    ),
}
