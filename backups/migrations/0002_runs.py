
import django.db.models.deletion
from django.db import migrations, models

import backups.models.schedules
import hubqueue.ids
import hubqueue.querysets


class Migration(migrations.Migration):

    dependencies = [
        ('backups', '0001_targets'),
    ]

    operations = [
        migrations.CreateModel(
            name='BackupSchedule',
            fields=[
                ('id', models.UUIDField(default=hubqueue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, unique=True)),
                ('tenant', models.TextField(blank=True, null=True)),
                ('content', models.CharField(choices=[('rows', 'Rows and media'), ('system', 'The whole database (pg_dump)')], default='rows', max_length=10)),
                ('rule', models.TextField()),
                ('full_rule', models.TextField(blank=True)),
                ('zone', models.CharField(default='UTC', max_length=64)),
                ('enabled', models.BooleanField(default=True)),
                ('keep_last', models.PositiveIntegerField(default=7)),
                ('keep_daily', models.PositiveIntegerField(default=14)),
                ('keep_weekly', models.PositiveIntegerField(default=8)),
                ('keep_monthly', models.PositiveIntegerField(default=12)),
                ('keep_yearly', models.PositiveIntegerField(default=3)),
                ('min_keep', models.PositiveIntegerField(default=3)),
                ('notify_on', models.JSONField(blank=True, default=backups.models.schedules.on_failure)),
                ('next_run_at', models.DateTimeField(editable=False, null=True)),
                ('unreadable', models.BooleanField(default=False, editable=False)),
                ('created_at', models.DateTimeField(db_default=hubqueue.querysets.Now(), editable=False)),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='schedules', to='backups.backuptarget')),
            ],
        ),
        migrations.CreateModel(
            name='BackupRun',
            fields=[
                ('id', models.UUIDField(default=hubqueue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('tenant', models.TextField(blank=True, null=True)),
                ('content', models.CharField(choices=[('rows', 'Rows and media'), ('system', 'The whole database (pg_dump)')], default='rows', max_length=10)),
                ('mode', models.CharField(choices=[('full', 'Full'), ('incremental', 'Incremental')], default='full', max_length=12)),
                ('trigger', models.CharField(choices=[('schedule', 'Schedule'), ('manual', 'A person'), ('pre_restore', 'Before a restore'), ('api', 'Code')], max_length=12)),
                ('asked_by', models.CharField(blank=True, max_length=150)),
                ('state', models.CharField(choices=[('RUNNING', 'running'), ('SUCCEEDED', 'succeeded'), ('FAILED', 'failed'), ('CANCELLED', 'cancelled'), ('EXPIRED', 'expired')], default='RUNNING', max_length=10)),
                ('code', models.CharField(blank=True, max_length=60)),
                ('job_id', models.UUIDField(null=True)),
                ('archive', models.TextField(blank=True)),
                ('started_at', models.DateTimeField(db_default=hubqueue.querysets.Now())),
                ('finished_at', models.DateTimeField(null=True)),
                ('snapshot_at', models.DateTimeField(null=True)),
                ('transactions', models.TextField(blank=True)),
                ('share', models.FloatField(default=0)),
                ('rows', models.BigIntegerField(null=True)),
                ('media', models.BigIntegerField(null=True)),
                ('bytes', models.BigIntegerField(null=True)),
                ('verified_at', models.DateTimeField(null=True)),
                ('findings', models.JSONField(default=list)),
                ('pinned_until', models.DateTimeField(blank=True, null=True)),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='backups.backuprun')),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='backups.backuptarget')),
                ('schedule', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to='backups.backupschedule')),
            ],
            options={
                'ordering': ['-started_at', '-id'],
                'permissions': [('start_backuprun', 'Can start a backup'), ('cancel_backuprun', 'Can cancel a backup'), ('verify_backuprun', 'Can verify an archive'), ('restore_backuprun', 'Can restore an archive'), ('pin_backuprun', 'Can pin an archive')],
            },
        ),
        migrations.AddIndex(
            model_name='backupschedule',
            index=models.Index(condition=models.Q(('next_run_at__isnull', False)), fields=['tenant', 'next_run_at'], name='backups_schedule_owed'),
        ),
        migrations.AddConstraint(
            model_name='backupschedule',
            constraint=models.CheckConstraint(condition=models.Q(('min_keep__gte', 1)), name='backups_backupschedule_floor_is_at_least_one'),
        ),
        migrations.AddConstraint(
            model_name='backupschedule',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('content', 'system'), _negated=True), ('tenant__isnull', True), _connector='OR'), name='backups_backupschedule_system_is_whole'),
        ),
        migrations.AddIndex(
            model_name='backuprun',
            index=models.Index(fields=['target', '-started_at'], name='backups_run_at_target'),
        ),
        migrations.AddIndex(
            model_name='backuprun',
            index=models.Index(fields=['schedule', '-started_at'], name='backups_run_of_schedule'),
        ),
        migrations.AddConstraint(
            model_name='backuprun',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'RUNNING')), fields=('target',), name='backups_backuprun_one_running_per_target'),
        ),
        migrations.AddConstraint(
            model_name='backuprun',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', True), ('state', 'RUNNING')), models.Q(models.Q(('state', 'RUNNING'), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='backups_backuprun_ended_has_a_moment'),
        ),
        migrations.AddConstraint(
            model_name='backuprun',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('mode', 'full'), ('parent__isnull', True)), models.Q(('mode', 'incremental'), ('parent__isnull', False)), _connector='OR'), name='backups_backuprun_incremental_has_a_parent'),
        ),
    ]
