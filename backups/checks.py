"""What ``manage.py check`` says about the settings of this app."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, register

from backups.conf import Conf
from hubqueue.appsettings import read


@register()
def check_settings(**_: Any) -> Sequence[CheckMessage]:
    """backups.E001: a setting that cannot be used."""
    return [Error(each, id="backups.E001") for each in read(Conf).problems()]
