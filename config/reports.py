"""What Django's reports of errors, on a page or mailed to the operators, show of settings and of the environment."""

import re

from django.views.debug import SafeExceptionReporterFilter


class ReportFilter(SafeExceptionReporterFilter):
    """Settings that are URLs with a password in them are hidden, too: Django goes by words such as PASS."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|MAIL_URL|DIRECT_URL|DATABASE_URL",
        flags=re.IGNORECASE,
    )
