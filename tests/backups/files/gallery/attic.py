"""A storage of files."""

from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage


class Attic(FileSystemStorage):
    """A storage beside the usual one, that no alias names."""

    @property
    def base_location(self) -> str:  # type: ignore[override]
        return f"{settings.MEDIA_ROOT}-attic"

    @property
    def location(self) -> str:  # type: ignore[override]
        return str(Path(self.base_location).resolve())
