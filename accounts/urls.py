"""Where the requests of this app go."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from accounts import views
from accounts.forms import LoginForm

login = LoginView.as_view(
    template_name="accounts/login.html", next_page="accounts-own", authentication_form=LoginForm
)

urlpatterns = [
    path("accounts/", views.own, name="accounts-own"),
    path("accounts/login/", login, name="accounts-login"),
    path(
        "accounts/logout/", LogoutView.as_view(next_page="accounts-login"), name="accounts-logout"
    ),
    # The admin's login page shows a link to this name.
    path("accounts/forgotten/", views.forgotten, name="admin_password_reset"),
    path("accounts/forgotten/sent/", views.forgotten_sent, name="accounts-forgotten-sent"),
    path("accounts/reset/", views.reset, name="accounts-reset"),
    path("accounts/welcome/", views.welcome, name="accounts-welcome"),
    path("accounts/password/", views.new_password, name="accounts-new-password"),
    path("accounts/address/", views.change_address, name="accounts-change-address"),
    path("accounts/address/confirm/", views.confirm, name="accounts-confirm-address"),
    path("accounts/address/confirmed/", views.confirm_address, name="accounts-address-confirmed"),
]
