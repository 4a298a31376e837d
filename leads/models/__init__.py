"""The rows of the leads app."""

from leads.models.events import (
    Answer,
    Event,
    EventType,
    Question,
    Registration,
    RegistrationAnswer,
)
from leads.models.imports import ImportPiece, ImportProblem, ImportRun
from leads.models.provenance import Lead, LeadProvenance, LeadProvenanceRegistration, WalkMark
from leads.models.requests import LeadArm, LeadRequest
from leads.models.rules import Grouping, LeadRule, LeadRulePredicate

__all__ = [
    "Answer",
    "Event",
    "EventType",
    "Grouping",
    "ImportPiece",
    "ImportProblem",
    "ImportRun",
    "Lead",
    "LeadArm",
    "LeadProvenance",
    "LeadProvenanceRegistration",
    "LeadRequest",
    "LeadRule",
    "LeadRulePredicate",
    "Question",
    "Registration",
    "RegistrationAnswer",
    "WalkMark",
]
