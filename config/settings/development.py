"""A laptop: the embedded database unless `DATABASE_URL` is set, and a secret of its own."""

from config.embedded.home import kept_directory, own_directory
from config.secret import kept_backup_keys, kept_secret
from config.settings.base import *  # noqa: F403 - settings are layered by star import
from config.settings.base import INSTALLED_APPS, env

INSTALLED_APPS = [*INSTALLED_APPS, "demo"]

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="") or kept_secret()
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

# Mails become files there unless a server is named.
NOTIFICATIONS_MAIL_URL = env.str("MAIL_URL", default=(own_directory() / "mail").as_uri())
NOTIFICATIONS_FROM = env.str("MAIL_FROM", default="hubqueue <hubqueue@localhost.localdomain>")

# Local targets of backups lie there, and their key beside it, unless others are named.
BACKUPS_VOLUME = env.str("BACKUPS_VOLUME", default="") or str(kept_directory("backups"))
BACKUPS_KEYS = env.str("BACKUPS_KEYS", default="") or kept_backup_keys()

# Static files come straight from the applications: nothing is collected on a laptop.
WHITENOISE_USE_FINDERS = True
STATIC_ROOT = None
