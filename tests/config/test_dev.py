"""`./dev` works in any folder, with whatever interpreters a machine pretends to have."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

FAKE_UV = """#!/bin/sh
echo "uv $*" >>"$(dirname "$0")/said"
case $1 in
venv) for last; do :; done; mkdir -p "$last/bin"; ln -s "{python}" "$last/bin/python" ;;
esac
"""


class Checkout:
    """A copy of what `./dev` needs, in a folder whose name has a space; uv only takes notes."""

    def __init__(self, path: Path) -> None:
        self.path = path / "a new clone"
        self.programs = path / "bin"
        self.path.mkdir()
        self.programs.mkdir()
        for name in ("dev", "pyproject.toml", "requirements.lock"):
            shutil.copy(CHECKOUT / name, self.path / name)
        (self.path / "manage.py").write_text("import sys; print('managed', *sys.argv[1:])")
        self.program("uv", FAKE_UV.format(python=sys.executable))

    def program(self, name: str, text: str) -> None:
        """Put a program first on PATH."""
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def dev(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [shutil.which("dash") or "sh", str(self.path / "dev"), *arguments],
            env=os.environ | {"PATH": path} | env,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def said_to_uv(self) -> str:
        return (self.programs / "said").read_text()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_it_sets_up_once_and_again_when_the_lock_is_newer(checkout: Checkout) -> None:
    assert checkout.dev("setup").returncode == 0
    assert checkout.said_to_uv().count("uv pip install") == 1
    assert checkout.dev("setup").stderr == ""
    stamp = (checkout.path / ".venv" / ".installed").stat().st_mtime
    os.utime(checkout.path / "requirements.lock", (stamp + 5, stamp + 5))
    assert "installing requirements.lock" in checkout.dev("setup").stderr
    assert checkout.said_to_uv().count("uv venv") == 1


def test_arguments_reach_the_command_as_they_were_given(checkout: Checkout) -> None:
    done = checkout.dev("manage", "shell", "-c", "a  b")
    assert done.stdout == "managed shell -c a  b\n", done.stderr


def test_an_interpreter_that_fails_when_run_is_passed_over(checkout: Checkout) -> None:
    shim = "#!/bin/sh\necho 'command not found' >&2\nexit 127\n"
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14", "python"):
        checkout.program(name, shim)
    done = checkout.dev("setup", PYTHON=str(checkout.programs / "python3"))
    assert done.returncode == 0, done.stderr
    assert "--python python" not in checkout.said_to_uv()
    assert str(checkout.programs / "python3") not in checkout.said_to_uv()


def test_an_old_interpreter_is_passed_over(checkout: Checkout) -> None:
    old = "#!/bin/sh\nexit 1\n"
    checkout.program("python3", old)
    done = checkout.dev("setup", PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert f"--python {sys.executable} .venv" in checkout.said_to_uv()


def test_a_broken_environment_is_made_anew(checkout: Checkout) -> None:
    checkout.dev("setup")
    (checkout.path / ".venv" / "bin" / "python").unlink()
    assert "making .venv" in checkout.dev("setup").stderr


def test_an_unknown_command_is_refused_in_one_sentence(checkout: Checkout) -> None:
    done = checkout.dev("tset")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("got 'tset'.")


def test_a_failed_installation_is_said_and_tried_again(checkout: Checkout) -> None:
    checkout.dev("setup")
    (checkout.path / ".venv" / ".installed").unlink()
    uv = (checkout.programs / "uv").read_text()
    checkout.program("uv", '#!/bin/sh\n[ "$1" != pip ]\n')
    done = checkout.dev("setup")
    assert done.returncode == 1
    assert "could not be installed" in done.stderr
    checkout.program("uv", uv)
    assert checkout.dev("setup").returncode == 0


def test_all_tests_run_two_at_once_and_the_fast_ones_on_the_other_end_too(
    checkout: Checkout,
) -> None:
    (checkout.path / "pytest.py").write_text("import sys; print('tested', *sys.argv[1:])")
    done = checkout.dev("test", "--all", "-x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "tested -n 2 --dist loadfile -m slow or not slow -x",
        "tested -n 2 --dist loadfile -x",
    ]
    assert checkout.dev("test").stdout == "tested -n 2 --dist loadfile\n"
    assert checkout.dev("test", "tests/one.py").stdout == "tested tests/one.py\n"


def test_one_end_that_fails_hides_no_other_and_is_told(checkout: Checkout) -> None:
    (checkout.path / "pytest.py").write_text(
        "import sys; print('tested'); sys.exit('slow or not slow' in sys.argv)"
    )
    done = checkout.dev("test", "--all")
    assert done.returncode == 1
    assert done.stdout == "tested\ntested\n"
    assert done.stderr.splitlines()[-1] == "dev: tests failed, see above."
