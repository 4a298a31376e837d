"""Where the requests of this app go."""

from django.urls import path

from leads import views

urlpatterns = [
    path("api/lead-requests/", views.lead_requests, name="leads-lead-requests"),
    path("api/lead-requests/<uuid:request_id>/", views.lead_request, name="leads-lead-request"),
]
