"""An officer who changes the address of an account: what is told then is told here as well."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpRequest

from accounts.addresses import address_changed
from notifications.decision import address_of


class TellsOfAddress:
    """Laid over the page of accounts, whichever that is."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        former = ""
        if change and obj.get_email_field_name() in form.changed_data:
            former = address_of(type(obj)._default_manager.get(pk=obj.pk))
        super().save_model(request, obj, form, change)  # type: ignore[misc]
        if former:
            address_changed(obj, former)


def lay_over() -> None:
    """After the application of the accounts registered its page; without one there is nothing to do."""
    people = get_user_model()
    if admin.site.is_registered(people):
        page = type(admin.site.get_model_admin(people))
        admin.site.unregister(people)
        admin.site.register(people, type(page.__name__, (TellsOfAddress, page), {}))


lay_over()
