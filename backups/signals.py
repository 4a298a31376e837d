"""What the backups app tells. Receivers get plain numbers, codes and names of targets; sent after the commit."""

from django.dispatch import Signal

run_ended = (
    Signal()
)  # state, content, code, seconds, stored (bytes), missing (files); None when unknown
restore_ended = Signal()  # restore_id, mode, state, code, seconds
archive_verified = Signal()  # run_id, sound, codes
archive_expired = Signal()  # run_id
deletion_failed = Signal()  # run_id (None: no run's), code
expiry_failed = Signal()  # schedule_id, code
archives_swept = Signal()  # target_id, count
target_failed = Signal()  # target_id, code (while it was swept)
