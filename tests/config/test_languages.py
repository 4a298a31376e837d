"""Pages are in the visitor's language; those of the officers are in one, whole."""

import pytest
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path
from django.utils import translation


def spoken(request):
    return HttpResponse(translation.get_language())


urlpatterns = [path("spoken/", spoken)]


@override_settings(ROOT_URLCONF=__name__)
@pytest.mark.parametrize(("asked", "said"), [("de-AT,de;q=0.9", "de"), ("fr", "en"), ("", "en")])
def test_a_page_speaks_the_language_that_its_visitor_asks_for(client, asked, said):
    answer = client.get("/spoken/", headers={"accept-language": asked})
    assert answer.content.decode() == said
    assert answer.headers["content-language"] == said


@pytest.mark.django_db
def test_the_pages_of_the_officers_are_in_english_whatever_is_asked_for(client):
    answer = client.get("/admin/login/", headers={"accept-language": "de"})
    assert answer.headers["content-language"] == "en"
    assert "Log in" in answer.content.decode()
