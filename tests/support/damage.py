"""Damage to a file that is damage whatever the file holds."""

from pathlib import Path


def flip(path: Path, position: int = -1, bit: int = 0) -> None:
    """Flip one ``bit`` of the byte at ``position``: its last byte, unless told."""
    raw = bytearray(path.read_bytes())
    raw[position] ^= 1 << bit
    path.write_bytes(raw)
