"""The generations of a backup in a real browser, under the policy that forbids inline styles and scripts."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template import Context, Engine
from django.test import override_settings
from django.urls import path

from backups.retention.archives import State, Trigger
from backups.retention.picture import picture as draw
from backups.retention.plan import Plan
from backups.retention.rule import decide
from config.urls import urlpatterns as of_the_project
from tests.backups.retention.made import BERLIN, NOW, archive

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

PAGE = """{% extends "admin/base_site.html" %}{% load static %}
{% block extrastyle %}{{ block.super }}<link rel="stylesheet" href="{% static "backups/backups.css" %}">{% endblock %}
{% block content %}{% include "admin/backups/generations.html" %}{% endblock %}"""


def generations(request: HttpRequest) -> HttpResponse:
    archives = [archive(f"{n:03}", NOW - timedelta(days=n)) for n in (*range(40), 60, 90, 400)]
    archives += [
        archive("by hand", NOW - timedelta(days=20, hours=2), trigger=Trigger.MANUAL),
        archive("going on", NOW, state=State.RUNNING),
        archive("half", NOW - timedelta(days=2, hours=1), state=State.UNFINISHED),
    ]
    plan = Plan()
    decisions = decide(archives, plan, scope="all", target="cellar", zone=BERLIN, now=NOW)
    context = Context(
        admin.site.each_context(request)
        | {"request": request, "title": "Generations", "picture": draw(decisions, plan, BERLIN)}
    )
    return HttpResponse(Engine.get_default().from_string(PAGE).render(context))


urlpatterns = [path("generations/", generations), *of_the_project]


@override_settings(ROOT_URLCONF=__name__)
def test_the_generations_are_drawn_and_every_archive_tells_its_reasons(
    log_in: Callable[[str], Any], picture: Callable[[str], None]
) -> None:
    page = log_in("ada")
    page.goto("/generations/")
    picture("backup-generations")
    assert page.inner_text(".bk-summary") == "25 stay, 21 expire, oldest first."
    drawn = page.locator(".bk-picture")
    assert drawn.locator(".bk-expiring").count() == 21
    assert page.locator(".bk-mark.bk-kept rect").first.evaluate(
        "each => getComputedStyle(each).stroke"
    ) not in ("none", "rgb(0, 0, 0)")
    page.click("text=Every archive in words")
    assert "expires as number 1" in page.inner_text(".bk-words table")
    picture("backup-generations-words")
