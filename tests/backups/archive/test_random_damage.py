"""No damage, whatever it is, lets wrong content out."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backups.archive.verify import verify
from tests.backups.archive.broken import refusal
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, RING, expected, read, write
from tests.support.damage import flip

ARCHIVES: dict[bool, tuple[Path, str]] = {}


@pytest.fixture(scope="module", autouse=True)
def sound_archives() -> Iterator[None]:
    with ExitStack() as stack:
        for encrypted in (True, False):
            root = Path(stack.enter_context(TemporaryDirectory()))
            with Directory(root) as store:
                name = str(write(store, KEY if encrypted else None).name)
            ARCHIVES[encrypted] = root, name
        yield


@given(encrypted=st.booleans(), draw=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_random_damage_is_never_handed_out(encrypted: bool, draw: st.DataObject) -> None:
    sound, name = ARCHIVES[encrypted]
    with TemporaryDirectory() as place:
        root = Path(place) / "target"
        shutil.copytree(sound, root)
        files = sorted(each for each in (root / name).rglob("*") if each.is_file())
        before = {each: each.read_bytes() for each in files}
        for _ in range(draw.draw(st.integers(1, 3))):
            damage(draw, files)
        after = {each: each.read_bytes() for each in files if each.exists()}
        with Directory(root) as store:
            if before == after:  # exchanged twice
                assert read(store, name) == expected()
                return
            assert str(refusal(store, name))
            assert not verify(store, name, RING).sound


def damage(draw: st.DataObject, files: list[Path]) -> None:
    there = [each for each in files if each.exists()]
    path = draw.draw(st.sampled_from(there))
    raw = path.read_bytes()
    kinds = ["append", "delete", "exchange", "zeros", "insert"] + ["flip", "cut"] * bool(raw)
    match draw.draw(st.sampled_from(kinds)):
        case "append":
            path.write_bytes(raw + draw.draw(st.binary(min_size=1, max_size=40)))
        case "delete" if len(there) > 1:
            path.unlink()
        case "exchange":
            other = draw.draw(st.sampled_from(there))
            path.write_bytes(other.read_bytes())
            other.write_bytes(raw)
        case "flip":
            flip(path, draw.draw(st.integers(0, len(raw) - 1)), draw.draw(st.integers(0, 7)))
        case "cut":
            path.write_bytes(raw[: draw.draw(st.integers(0, len(raw) - 1))])
        case "insert":
            at = draw.draw(st.integers(0, len(raw)))
            path.write_bytes(raw[:at] + draw.draw(st.binary(min_size=1, max_size=20)) + raw[at:])
        case _:
            path.write_bytes(bytes(len(raw) + 1))
