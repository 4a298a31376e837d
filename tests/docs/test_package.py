"""`pip install /path/to/hubqueue` brings everything that the packages need."""

import tomllib

from tests.conftest import CHECKOUT

SETUPTOOLS = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["setuptools"]
LEFT_OUT = {".py", ".pyc", ".md"}


def test_every_file_of_a_package_that_is_not_python_is_shipped() -> None:
    forgotten = []
    for package, patterns in SETUPTOOLS["package-data"].items():
        root = CHECKOUT / package
        shipped = {path for pattern in patterns for path in root.glob(pattern)}
        forgotten += [
            str(path.relative_to(CHECKOUT))
            for path in root.rglob("*")
            if path.is_file() and path.suffix not in LEFT_OUT and path not in shipped
        ]
    assert not forgotten


def test_the_projects_own_settings_are_not_shipped() -> None:
    shipped = SETUPTOOLS["packages"]["find"]["include"]
    assert sorted(shipped) == [
        "accounts*",
        "backups*",
        "hubqueue*",
        "leads*",
        "notifications*",
        "outbound*",
    ]
