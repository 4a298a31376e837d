"""Who logs in, with waits after wrong passwords. The answer tells nobody whether there is such an account."""

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from accounts.clients import client_of
from accounts.signals import login_tried
from accounts.waits import barred, forgive, waits_of


class WaitingBackend(ModelBackend):
    """Django's own, for every page that logs in, the admin's among them. Without a request nobody waits."""

    @sensitive_variables()
    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """The account, or None. Raises ``PermissionDenied`` while a wait lasts, before the password is looked at."""
        name = username or kwargs.get(get_user_model().USERNAME_FIELD)
        if request is None or name is None or password is None:
            return super().authenticate(request, username, password, **kwargs)
        waits = waits_of(str(name), client_of(request))
        by = barred(waits)
        if by:
            request.accounts_barred = True  # type: ignore[attr-defined]
            login_tried.send_robust(sender=None, outcome=by)
            raise PermissionDenied
        person = super().authenticate(request, username, password, **kwargs)
        if person is not None:
            forgive(waits)
        login_tried.send_robust(sender=None, outcome="wrong" if person is None else "taken")
        return person

    @sensitive_variables()
    async def aauthenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """The same."""
        return await sync_to_async(self.authenticate)(request, username, password, **kwargs)


def was_barred(request: HttpRequest | None) -> bool:
    """Whether the last login of this request has to wait."""
    return getattr(request, "accounts_barred", False)
