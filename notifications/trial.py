"""The one category of this app itself: a message that only shows that mail arrives."""

from typing import TYPE_CHECKING

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from notifications.categories import Category, Subject

if TYPE_CHECKING:
    from notifications.models import Notification


def _describe(_record: "Notification") -> Subject:
    return _sample()


def _sample() -> Subject:
    return Subject({"moment": timezone.now()})


TRIAL = Category(
    "notifications.test",
    _("A test of the mail"),
    suppressible=False,
    describe=_describe,
    sample=_sample,
)
