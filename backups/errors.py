"""What this app refuses or cannot do, each with a stable code and a sentence that holds no secret."""


class BackupError(Exception):
    """``code`` is stable. ``passing``: the same may go well later, without anybody doing anything."""

    code = "backups.error"
    passing = False


class NameUnknown(BackupError):
    """There is no target, schedule or database of this name."""

    code = "backups.name_unknown"


class RuleRefused(BackupError):
    """A schedule cannot have this rule."""

    code = "backups.rule_refused"


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


class SizeDiffers(TargetError):
    """The target reports another size than was sent: the upload was cut."""

    code = "backups.size_differs"
    passing = True


class ArchiveError(BackupError):
    """An archive that cannot be written, opened or trusted."""

    code = "backups.archive_unsound"


class ArchiveMissing(ArchiveError):
    """There is no archive of this name at the target."""

    code = "backups.archive_missing"


class ArchiveKept(BackupError):
    """The archive is not one that an officer deletes: it is sound, pinned, or something builds on it."""

    code = "backups.archive_kept"


class ArchiveExists(ArchiveError):
    """An archive of this name is complete already; it is never written again."""

    code = "backups.archive_exists"


class ArchiveUnfinished(ArchiveError):
    """``checksums.txt`` is not there: its run did not come to the end, or it was being deleted."""

    code = "backups.archive_unfinished"


class NotEncrypted(ArchiveError):
    """An archive that had to be encrypted is not."""

    code = "backups.not_encrypted"


class FormatUnknown(ArchiveError):
    """A form of archive that this version of the product does not read."""

    code = "backups.format_unknown"


class SchemaAhead(ArchiveError):
    """The archive was written by newer code: it knows migrations that are not here."""

    code = "backups.schema_ahead"


class ManifestUnreadable(ArchiveError):
    """``manifest.json`` or ``checksums.txt`` is not of the form that it should have."""

    code = "backups.manifest_unreadable"


class ManifestAltered(ArchiveError):
    """``manifest.json`` is not the one that was written with this archive."""

    code = "backups.manifest_altered"


class MemberMissing(ArchiveError):
    """A member that the manifest names is not there."""

    code = "backups.member_missing"


class MemberDamaged(ArchiveError):
    """A member is not what was written: changed, cut, or in the place of another."""

    code = "backups.member_damaged"


class ParentMissing(ArchiveError):
    """An archive that an incremental one goes on from is not there, or not complete."""

    code = "backups.parent_missing"


class ChainBroken(ArchiveError):
    """An archive that an incremental one goes on from is another one than it was."""

    code = "backups.chain_broken"


class ContentDiffers(ArchiveError):
    """What was given to be written is not what it was said to be."""

    code = "backups.content_differs"


class FileMissing(BackupError):
    """A file that a row names is not in its storage."""

    code = "backups.file_missing"


class FileUnreadable(BackupError):
    """A storage of files fails: it does not answer, or does not let us read."""

    code = "backups.file_unreadable"
    passing = True


class FileUnwritable(BackupError):
    """A storage of files does not take one: it is full, does not answer, or does not let us write."""

    code = "backups.file_unwritable"
    passing = True


class FileThere(BackupError):
    """A file is there already, under the name of one of the archive and with another content."""

    code = "backups.file_there"


class NameOutside(ArchiveError):
    """An archive gives a file a name that leads out of its storage."""

    code = "backups.name_outside"


class KeysUnusable(BackupError):
    """The setting BACKUPS_KEYS cannot be read, or is empty where a key is needed."""

    code = "backups.keys_unusable"


class KeyMissing(ArchiveError):
    """BACKUPS_KEYS does not hold the key that an archive was written with."""

    code = "backups.key_missing"


class KeyWrong(ArchiveError):
    """BACKUPS_KEYS holds another key under the id that an archive names."""

    code = "backups.key_wrong"


class NameRefused(TargetError):
    """This is no name of an object: it was not asked for."""

    code = "backups.name_refused"


class ObjectThere(TargetError):
    """There is an object of this name already."""

    code = "backups.object_there"


class ConfigRefused(TargetError):
    """The configuration of a target cannot be used."""

    code = "backups.config_refused"


class KindUnknown(TargetError):
    """There is no such kind of target."""

    code = "backups.kind_unknown"


class KindWithoutAdapter(TargetError):
    """The kind is known, and nothing here speaks it."""

    code = "backups.kind_without_adapter"


class PackageMissing(TargetError):
    """What the kind needs is not installed."""

    code = "backups.package_missing"


class CredentialSealed(TargetError):
    """The credential does not open with a key that this installation has."""

    code = "backups.credential_sealed"


class TargetDisabled(BackupError):
    """Nothing is sent to a target that is not enabled."""

    code = "backups.target_disabled"


class TargetBusy(BackupError):
    """Another run, of something else, is running at the target."""

    code = "backups.target_busy"


class ContentUnknown(BackupError):
    """This version writes no archives of such a content."""

    code = "backups.content_unknown"


class TenantUnknown(BackupError):
    """No row is of this tenant, and no archive."""

    code = "backups.tenant_unknown"


class RunEnded(BackupError):
    """The run has ended already: there is nothing to stop."""

    code = "backups.run_ended"


class ReadBackFailed(BackupError):
    """An archive that was just written is not sound when it is read back; it is written again."""

    code = "backups.read_back_failed"
    passing = True


class ToolMissing(BackupError):
    """PostgreSQL's own programs are not here, or only ones that are older than the server."""

    code = "backups.tool_missing"


class ToolFailed(BackupError):
    """A program of PostgreSQL ended with an error, or was killed."""

    code = "backups.tool_failed"
    passing = True


class DatabaseNotEmpty(BackupError):
    """A whole database is only restored into an empty one."""

    code = "backups.database_not_empty"


class NotWhole(BackupError):
    """The archive is not what this restore takes: rows of a whole installation, or a dump of a system."""

    code = "backups.not_whole"


class NotMigrated(BackupError):
    """The database lacks migrations that are here."""

    code = "backups.not_migrated"


class NotEmpty(BackupError):
    """The database that an archive is to come back into holds rows."""

    code = "backups.not_empty"


class RestoreRefused(BackupError):
    """The archive does not fit what is here, so that nothing of it was written."""

    code = "backups.restore_refused"


class RowsMissing(RestoreRefused):
    """Rows of the archive refer to rows that it does not hold and that are not here: users, for one."""

    code = "backups.rows_missing"


class RestoreBusy(BackupError):
    """Another restore writes the tenant's rows."""

    code = "backups.restore_busy"


class RestoreEnded(BackupError):
    """The restore has ended already: there is nothing to stop."""

    code = "backups.restore_ended"


class SafetyFailed(BackupError):
    """The copy of what a restore would replace could not be made, so that nothing was replaced."""

    code = "backups.safety_failed"
