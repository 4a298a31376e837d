"""What is backed up of leads, as plain data. Questions, and rules for every event, belong to all tenants.

Restored, the requests that were open are parked until an officer releases them: their leads may have been made by the
original since, and the sink may be another system, which no archive takes back.
"""

_REQUEST = """
UPDATE leads_leadrequest
SET parked_at = hubqueue_now(), park_reason = 'restored', claimed_at = NULL, claimed_by = '', lease_token = NULL,
    updated_at = hubqueue_now(), updated_by = 'restore'
WHERE NOT done AND parked_at IS NULL AND {rows}
"""

# A trigger opens the request of its event at the next pass, and makes one where there is none.
_ARM = """
INSERT INTO leads_leadrequest (id, event_id, done, parked_at, park_reason, created_by, updated_by)
SELECT gen_random_uuid(), event_id, false, hubqueue_now(), 'restored', 'restore', 'restore'
FROM leads_leadarm
WHERE EXISTS (SELECT FROM leads_event WHERE leads_event.id = leads_leadarm.event_id) AND {rows}
GROUP BY event_id
ON CONFLICT (event_id) DO UPDATE
SET done = false, parked_at = excluded.parked_at, park_reason = excluded.park_reason,
    claimed_at = NULL, claimed_by = '', lease_token = NULL,
    updated_at = hubqueue_now(), updated_by = excluded.updated_by
WHERE leads_leadrequest.parked_at IS NULL
"""

_GROUP = {"group_key": "order:{tenant}:"}  # the other form names the event

BACKUP = (
    {"model": "leads.EventType", "shared": True},
    {"model": "leads.Event", "tenant": "tenant_id"},
    {"model": "leads.Question", "shared": True},
    {"model": "leads.Answer", "shared": True},
    {
        "model": "leads.Registration",
        "tenant": "event__tenant_id",
        "stamped": ["changed_xid"],
        "incremental": True,
        "changed_in": "changed_xid",
    },
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
    {"model": "leads.Lead", "tenant": "tenant_id", "incremental": True, "tenant_in": _GROUP},
    {
        "model": "leads.LeadProvenance",
        "tenant": "registrations__registration__event__tenant_id",
        "tenant_in": _GROUP,
    },
    {
        "model": "leads.LeadProvenanceRegistration",
        "tenant": "registration__event__tenant_id",
    },
    {
        "model": "leads.LeadRequest",
        "tenant": "event__tenant_id",
        "last": 1,
        "quiet": [{"sql": _REQUEST, "since": "0001_leads"}],
    },
    {
        "model": "leads.LeadArm",
        "tenant": "event__tenant_id",
        "last": 2,  # its quiet adds requests
        "quiet": [{"sql": _ARM, "since": "0001_leads"}],
    },
)

LEFT_OUT = {
    "leads.WalkMark": "Numbers of transactions of this server; the next walk makes it anew.",
}
