"""URLs of the queue: a job as JSON for staff, and what monitoring asks for."""

from django.urls import path

from hubqueue import probes, views

urlpatterns = [
    path("api/jobs/<str:job_id>/", views.job, name="hubqueue-job"),
    path("healthz", probes.healthz, name="hubqueue-healthz"),
    path("readyz", probes.readyz, name="hubqueue-readyz"),
    path("metrics", probes.metrics, name="hubqueue-metrics"),
]
