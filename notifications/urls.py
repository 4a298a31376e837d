"""The pages of people: what they choose, and the way out that a mail carries."""

from django.urls import path

from notifications import views

app_name = "notifications"
urlpatterns = [
    path("notifications/preferences/", views.preferences, name="preferences"),
    path("notifications/unsubscribe/<str:token>/", views.unsubscribe, name="unsubscribe"),
]
