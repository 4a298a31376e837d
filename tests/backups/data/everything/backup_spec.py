BACKUP = (
    {"model": "everything.Everything"},
    {"model": "everything.Stamped", "tenant": "person__tenant_id", "stamped": ["stamp"]},
    {"model": "everything.Person", "tenant": "tenant_id", "redact": {"secret": "out % of 'it'"}},
    {"model": "everything.Hen"},
    {"model": "everything.Egg"},
    {"model": "everything.Club", "shared": True},
    {"model": "everything.Right"},
    {"model": "everything.Left"},
)
LEFT_OUT = {"everything.Contrib": "Its test declares it where the extensions are."}
