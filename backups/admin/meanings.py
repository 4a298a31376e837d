"""Codes in words, for officers."""

MEANINGS = {
    "backups.archive_missing": "The archive is not at the target.",
    "backups.archive_unfinished": "Its checksums are not there.",
    "backups.chain_broken": "An archive that it would go on from is another one than it was.",
    "backups.content_differs": "Its content is not what it was said to be.",
    "backups.file_there": "A file is there under the name of one of the archive, with another content.",
    "backups.file_unreadable": "A storage of files does not answer, or does not let us read.",
    "backups.file_unwritable": "A storage of files is full, does not answer, or does not let us write.",
    "backups.format_unknown": "Its form is of another version.",
    "backups.key_missing": "The key that it was written with is not in BACKUPS_KEYS.",
    "backups.key_wrong": "BACKUPS_KEYS holds another key under its key's id.",
    "backups.manifest_altered": "Its manifest is not the one that was written.",
    "backups.manifest_unreadable": "Its manifest cannot be read.",
    "backups.member_damaged": "A member is not what was written.",
    "backups.member_missing": "A member is not there.",
    "backups.name_outside": "A name of a file in it leads out of its storage.",
    "backups.never_incremental": "A tenant's archive, and one of the whole database, is always full.",
    "backups.not_encrypted": "It is not encrypted and should be.",
    "backups.nothing_to_continue": "There was no sound archive of the same to go on from.",
    "backups.other_history": "The database is another one, or has other migrations, than that of the archive before.",
    "backups.other_options": "The archive before has another key, or holds other columns.",
    "backups.parent_missing": "An archive that it would go on from is not at the target.",
    "backups.read_back_failed": "It was not sound when it was read back.",
    "backups.load_refused": "Its rows do not fit into the database.",
    "backups.restore_refused": "It does not fit what is here: Look into it says why.",
    "backups.rights_missing": "The account of the database may not read every row that belongs into it.",
    "backups.rows_missing": "Rows that it refers to, and does not hold, are not here: Look into it says which.",
    "backups.safety_failed": "The copy of what is there could not be made; nothing was replaced.",
    "backups.safety_running": "A copy of what is there is made first.",
    "backups.target_busy": "Another run is running at the target.",
    "backups.tenant_running": "Jobs of the tenant are still running; they are asked to stop.",
    "backups.target_full": "There is no room left at the target.",
    "backups.target_refused": "The target refuses the credential, the host key or the configuration.",
    "backups.target_unreachable": "The target does not answer.",
}


def meaning(code: str) -> str:
    """A code in words, with the code; a code without words stands for itself."""
    said = MEANINGS.get(code)
    return f"{said} ({code})" if said else code
