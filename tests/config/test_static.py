"""What can be told without running the program: style, types, imports, migrations, deployment."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import version

import django
import pytest
from packaging.requirements import Requirement

from tests.conftest import CHECKOUT

PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "config.settings.production",
    "SECRET_KEY": "-".join(str(number * 7919) for number in range(20)),
    "ALLOWED_HOSTS": "jobs.example",
    "BASE_URL": "https://jobs.example",
    "MAIL_URL": "smtps://mail.example",
    "MAIL_FROM": "jobs@jobs.example",
    "DATABASE_URL": "postgres://nobody:nothing@localhost/nowhere",
}


def run(*command: str, **env: str) -> None:
    """Run a tool in the checkout and fail with all it said."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=CHECKOUT,
        env=os.environ | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}", pytrace=False)


def test_the_linter_is_content() -> None:
    run("-m", "ruff", "check", "--quiet", "--output-format", "concise", ".")


def test_the_format_is_the_formatters() -> None:
    run("-m", "ruff", "format", "--check", "--output-format", "concise", ".")


@pytest.mark.timeout(300)
@pytest.mark.skipif(django.VERSION >= (6,), reason="types are checked on the older Django")
def test_the_types_fit() -> None:
    run("-m", "mypy")


def test_imports_go_down() -> None:
    run("-c", "from importlinter.cli import lint_imports_command as main; main()")


def test_no_migration_is_missing() -> None:
    run("manage.py", "makemigrations", "--check", "--dry-run")


def test_production_passes_the_deployment_checks() -> None:
    run("manage.py", "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)


def test_the_lock_gives_what_the_project_asks_for() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    own = f"{project['name']}[backups]"  # an extra that the one for development includes
    assert own in extras["dev"]
    asked = {*project["dependencies"], *extras["dev"], *extras["backups"]} - {own}
    for requirement in map(Requirement, asked):
        if requirement.marker is None or requirement.marker.evaluate():
            assert version(requirement.name) in requirement.specifier, requirement
