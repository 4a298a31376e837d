"""Where the requests of this app go."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
