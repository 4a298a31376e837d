"""What ``manage.py check`` says about the settings and the templates of this app."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.template import Engine, TemplateDoesNotExist, TemplateSyntaxError

from hubqueue.appsettings import read
from notifications.categories import Category, categories
from notifications.conf import Conf
from notifications.mail_server import Server, read_url
from notifications.rendering import PARTS, folder


@register()
def check_settings(**_: Any) -> Sequence[CheckMessage]:
    """notifications.E001: a setting that cannot be used."""
    return [Error(each, id="notifications.E001") for each in read(Conf).problems()]


@register()
def check_templates(**_: Any) -> Sequence[CheckMessage]:
    """notifications.E002: a template that is not there or cannot be read."""
    return list(template_problems(categories()))


@register(Tags.security, deploy=True)
def check_base_url(**_: Any) -> Sequence[CheckMessage]:
    """notifications.E003: links in mails that do not lead to TLS."""
    conf = read(Conf)
    if conf.problems() or conf.notifications_base_url.startswith("https://"):
        return []
    return [
        Error(
            "NOTIFICATIONS_BASE_URL must start with https:// in production,"
            f" got {conf.notifications_base_url!r}.",
            id="notifications.E003",
        )
    ]


@register(Tags.security, deploy=True)
def check_mail(**_: Any) -> Sequence[CheckMessage]:
    """notifications.W001: no mail server, so mail waits. notifications.W002: a password in the clear."""
    conf = read(Conf)
    if conf.problems():
        return []
    if not conf.notifications_mail_url or not conf.notifications_from:
        return [
            checks.Warning(
                "No mail is sent until NOTIFICATIONS_MAIL_URL and NOTIFICATIONS_FROM are set"
                " (environment: MAIL_URL, MAIL_FROM).",
                id="notifications.W001",
            )
        ]
    place = read_url(conf.notifications_mail_url)
    if isinstance(place, Server) and place.bares_password:
        return [
            checks.Warning(
                "The password of the mail server crosses the network in the clear: use smtps:// or ?tls=starttls"
                " in NOTIFICATIONS_MAIL_URL.",
                id="notifications.W002",
            )
        ]
    return []


def template_problems(known: Iterable[Category]) -> Iterator[CheckMessage]:
    """An error for each template that a category lacks."""
    for category in known:
        for withheld in (False, True) if category.withholds else (False,):
            for part in PARTS:
                name = f"{folder(category, withheld=withheld)}/{part}"
                if wrong := _wrong_with(name):
                    yield Error(
                        f"The category {category.name} needs the template {name}, which {wrong}.",
                        id="notifications.E002",
                    )


def _wrong_with(name: str) -> str:
    try:
        Engine.get_default().get_template(name)
    except TemplateDoesNotExist:
        return "no app has"
    except TemplateSyntaxError as error:
        return f"cannot be read: {error}"
    return ""
