"""A project that uses the queue and nothing else: no admin, no users, no content types."""

import os
import subprocess
import sys
from pathlib import Path

SETTINGS = """
SECRET_KEY = "only-for-tests"
INSTALLED_APPS = ["hubqueue"]
ROOT_URLCONF = "hubqueue.urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "nobody-connects"}}
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
"""


def test_a_project_without_the_admin_passes_its_checks(tmp_path: Path) -> None:
    (tmp_path / "alone.py").write_text(SETTINGS)
    checkout = Path(__file__).resolve().parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-m", "django", "check", "--fail-level", "WARNING"],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "alone",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(checkout)]),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
