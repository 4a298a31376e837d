"""Examine the environment of the queue, and name what makes it slow, unsafe or stuck: ``manage.py hubqueue doctor``.

Every family of probes has a file; ``examine`` runs them one after another and never fails itself.
"""

from hubqueue.doctor.examine import examine
from hubqueue.doctor.finding import Finding, Severity
from hubqueue.doctor.patient import Patient
from hubqueue.doctor.report import Report

__all__ = ["Finding", "Patient", "Report", "Severity", "examine"]
