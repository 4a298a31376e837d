from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """The state of what a restore set aside. Code of the release before sends none of it: it asks for others."""

    dependencies = [("notifications", "0002_webhooks")]

    operations = [
        migrations.AlterModelOptions(
            name="notification",
            options={
                "permissions": [
                    ("resend_notification", "Can send a failed or uncertain notification again"),
                    ("release_notification", "Can release a notification that a restore held"),
                    ("drop_notification", "Can drop a notification that a restore held"),
                    ("preview_template", "Can preview templates and send a test to themselves"),
                ]
            },
        ),
        migrations.AlterModelOptions(
            name="webhookmessage",
            options={
                "permissions": [
                    ("replay_webhookmessage", "Can send a dead webhook message again"),
                    ("release_webhookmessage", "Can release a webhook message that a restore held"),
                    ("drop_webhookmessage", "Can drop a webhook message that a restore held"),
                    (
                        "read_webhook_bodies",
                        "Can read what was sent to an endpoint and what it answered",
                    ),
                ]
            },
        ),
        migrations.AlterField(
            model_name="notification",
            name="state",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("sent", "Sent"),
                    ("suppressed", "Suppressed"),
                    ("uncertain", "Uncertain"),
                    ("failed", "Failed"),
                    ("held", "On hold"),
                ],
                default="pending",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="webhookmessage",
            name="state",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("delivered", "Delivered"),
                    ("dead", "Dead"),
                    ("held", "On hold"),
                ],
                default="pending",
                max_length=10,
            ),
        ),
        migrations.RemoveConstraint(
            model_name="notification", name="notifications_notification_finished_at"
        ),
        migrations.AddConstraint(
            model_name="notification",
            constraint=models.CheckConstraint(
                condition=Q(state__in=["sent", "suppressed", "failed"], finished_at__isnull=False)
                | Q(state__in=["pending", "uncertain", "held"], finished_at__isnull=True),
                name="notifications_notification_finished_at",
            ),
        ),
        migrations.RemoveConstraint(
            model_name="webhookmessage", name="notifications_webhookmessage_finished_at"
        ),
        migrations.AddConstraint(
            model_name="webhookmessage",
            constraint=models.CheckConstraint(
                condition=Q(state="pending", finished_at__isnull=True, reason="")
                | Q(state="delivered", finished_at__isnull=False, reason="")
                | Q(state="dead", finished_at__isnull=False) & ~Q(reason="")
                | Q(state="held", finished_at__isnull=True) & ~Q(reason=""),
                name="notifications_webhookmessage_finished_at",
            ),
        ),
    ]
