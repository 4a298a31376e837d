"""Where requests go."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
    path("admin/", admin.site.urls),
    path("", include("hubqueue.urls")),
    path("", include("accounts.urls")),
    path("", include("leads.urls")),
    path("", include("notifications.urls")),
]
