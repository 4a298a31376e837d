"""For processes of tests of the gallery."""

import os

from config.settings.test import *  # noqa: F403 - settings are layered by star import
from config.settings.test import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.backups.files.gallery.apps.GalleryConfig"]
MEDIA_ROOT = os.environ["GALLERY_MEDIA"]
