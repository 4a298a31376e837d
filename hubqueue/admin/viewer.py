"""Who looks at a page."""

from typing import Protocol


class Viewer(Protocol):
    """A user, or nobody in particular. Pages ask for nothing but permissions."""

    def has_perm(self, perm: str) -> bool:
        """Whether whoever looks has the permission ``app.codename``."""
