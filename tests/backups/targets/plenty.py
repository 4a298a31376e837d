"""What lies at a target before its server starts: servers keep what they know of directories."""

from pathlib import Path

PLENTY = 1050


def fill(served: Path) -> None:
    """Beside the usual root: ``plenty`` with many objects, ``swept`` with what a put left that died."""
    many = served / "plenty" / "many"
    many.mkdir(parents=True)
    for number in range(PLENTY):
        (many / f"{number}").write_bytes(b"x")
    run = served / "swept" / "run" / "data"
    run.mkdir(parents=True)
    (run / "one").write_bytes(b"1")
    (run / ".part-0123").write_bytes(b"half")
