"""What an application imports from Django's framework, on either Django."""

import django

if django.VERSION >= (6, 0):
    from django.tasks import default_task_backend, task
    from django.tasks.exceptions import TaskResultMismatch
else:
    from django_tasks import default_task_backend, task
    from django_tasks.exceptions import TaskResultMismatch

__all__ = ["TaskResultMismatch", "default_task_backend", "task"]
