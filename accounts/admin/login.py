"""The admin's login says when one has to wait."""

from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm

from accounts.forms import SaysWhenToWait


class AdminLoginForm(SaysWhenToWait, AdminAuthenticationForm):
    """Django's own otherwise."""


admin.site.login_form = AdminLoginForm
