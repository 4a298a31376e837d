"""What is backed up of leads, as plain data. Questions, and rules for every event, belong to all tenants."""

BACKUP = (
    {"model": "leads.EventType", "shared": True},
    {"model": "leads.Event", "tenant": "tenant_id"},
    {"model": "leads.Question", "shared": True},
    {"model": "leads.Answer", "shared": True},
    {"model": "leads.Registration", "tenant": "event__tenant_id", "stamped": ["changed_xid"]},
    {"model": "leads.RegistrationAnswer", "tenant": "registration__event__tenant_id"},
    {"model": "leads.ImportRun", "tenant": "tenant_id"},
    {"model": "leads.ImportPiece", "tenant": "run__tenant_id"},
    {"model": "leads.ImportProblem", "tenant": "run__tenant_id"},
    {"model": "leads.LeadRule", "tenant": "event__tenant_id", "shared_without": "event"},
    {
        "model": "leads.LeadRulePredicate",
        "tenant": "rule__event__tenant_id",
        "shared_without": "rule__event",
    },
    {"model": "leads.Lead", "tenant": "tenant_id"},
    {
        "model": "leads.LeadProvenance",
        "tenant": "registrations__registration__event__tenant_id",
    },
    {
        "model": "leads.LeadProvenanceRegistration",
        "tenant": "registration__event__tenant_id",
    },
    {"model": "leads.LeadArm", "tenant": "event__tenant_id", "last": True},
    {"model": "leads.LeadRequest", "tenant": "event__tenant_id", "last": True},
)

LEFT_OUT = {
    "leads.WalkMark": "Numbers of transactions of this server; the next walk makes it anew.",
}
