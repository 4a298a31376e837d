"""The categories of the installed applications, not those that tests have registered."""

from django.apps import apps

from notifications.categories import Category, categories


def shipped() -> list[Category]:
    """Those whose subject is described by code of an installed application."""
    return [each for each in categories() if apps.is_installed(_app(each))]


def _app(category: Category) -> str:
    return category.describe.__module__.partition(".")[0]
