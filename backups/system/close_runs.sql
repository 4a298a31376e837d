-- In the transaction of a restore: the runs that the dump caught at work have no job that would end them.
DO $$
BEGIN
    IF to_regclass('backups_backuprun') IS NOT NULL THEN
        UPDATE backups_backuprun SET state = 'failed', code = 'backups.restored', finished_at = hubqueue_now()
        WHERE state = 'running';
    END IF;
END
$$;
