"""Reports of errors: no password of a setting or of the environment stands there."""

from typing import Any

from django.test import RequestFactory
from django.views.debug import get_exception_reporter_class

HUSH = "hush-hush"


def test_no_url_with_a_password_is_in_a_report_of_an_error(settings: Any) -> None:
    settings.NOTIFICATIONS_MAIL_URL = f"smtps://us:{HUSH}@mail.example"
    settings.HUBQUEUE = settings.HUBQUEUE | {"DIRECT_URL": f"postgres://us:{HUSH}@db/jobs"}
    environment = {
        f"{name}_URL": f"x://us:{HUSH}@y" for name in ("MAIL", "DATABASE", "HUBQUEUE_DIRECT")
    }
    request = RequestFactory().get("/", **environment)
    made = get_exception_reporter_class(request)
    reporter = made(request, RuntimeError, RuntimeError("out of order"), None)
    for report in (reporter.get_traceback_text(), reporter.get_traceback_html()):
        assert "NOTIFICATIONS_MAIL_URL" in report
        assert HUSH not in report
