"""What lies at a target before its server starts: servers keep what they know of directories."""

import os
from pathlib import Path

PLENTY = 1050


def fill(served: Path) -> None:
    """Beside the usual root: ``plenty`` with many objects, ``swept`` with what a put left that died, ``odd`` with
    names that nobody can have for an object."""
    many = served / "plenty" / "many"
    many.mkdir(parents=True)
    for number in range(PLENTY):
        (many / f"{number}").write_bytes(b"x")
    run = served / "swept" / "run" / "data"
    run.mkdir(parents=True)
    (run / "one").write_bytes(b"1")
    (run / ".part-0123").write_bytes(b"half")
    for name in (
        b"caf\xe9",
        b"new\nline",
        b"\x1b[31m",
        b"#a?b",
        b"per%cent",
        b".hidden",
        b"x" * 201,
    ):
        odd = os.path.join(os.fsencode(served), b"odd", name)
        os.makedirs(odd)
        with open(os.path.join(odd, b"file"), "wb") as file:
            file.write(b"x")
    (served / "odd" / "ours").write_bytes(b"x")
