"""The notifications app's side of its cases: `python -m bench.mail_agent OPERATION JSON`, one operation a process.

The last line of its output is the answer. `BENCH_MAIL` is the mail server's URL, and puts the app into the project.
"""

import json
import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.project.settings"

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 - Django is set up by now
from django.core.mail import EmailMultiAlternatives  # noqa: E402
from django.core.mail.backends.smtp import EmailBackend  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from notifications.conf import conf  # noqa: E402
from notifications.mail_server import Server, read_url  # noqa: E402
from notifications.models import Notification  # noqa: E402
from notifications.rendering import language_of, render  # noqa: E402
from notifications.services import notify  # noqa: E402
from notifications.trial import TRIAL  # noqa: E402

ACCOUNTS = get_user_model().objects


def setup(count: int) -> None:
    """Tables, and ``count`` people."""
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE auth_user, notifications_notification CASCADE")
    ACCOUNTS.bulk_create(
        ACCOUNTS.model(username=f"p{n}", email=f"p{n}@example.org", first_name="Ada")
        for n in range(count)
    )


def record() -> None:
    """A message to everybody."""
    notify(TRIAL.name, ACCOUNTS.values_list("pk", flat=True), cause="bench")


def one_by_one(kept: bool) -> None:
    """The same messages without the queue, as Django's ``send_mail`` does: each over a connection of its own, or
    all over one that is ``kept``, which is what keeping it can win at most."""
    server = read_url(conf().notifications_mail_url)
    assert isinstance(server, Server)
    backend = EmailBackend(
        host=server.host,
        port=server.port,
        username=server.user,
        password=server.password,
        use_tls=server.tls == "starttls",
        timeout=30,
    )
    if kept:
        backend.open()
    for person in ACCOUNTS.iterator():
        subject = TRIAL.describe(Notification(recipient=person, category=TRIAL.name))
        assert subject is not None
        text = render(TRIAL, subject, language=language_of(person))
        message = EmailMultiAlternatives(
            text.subject, text.text, conf().notifications_from, [person.email], connection=backend
        )
        message.attach_alternative(text.html, "text/html")
        message.send()
    backend.close()


def main() -> None:
    operation, given = sys.argv[1:3]
    answer = globals()[operation](**json.loads(given))
    connection.close()
    print(f"\n{json.dumps(answer)}", flush=True)


if __name__ == "__main__":
    main()
