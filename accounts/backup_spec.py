"""What is backed up of accounts, as plain data, Django's users and groups among it.

Content types and permissions come along because groups, users and entries of the admin's log refer to their numbers,
which differ between databases. Password hashes are in the rows of users: without them nobody could log in.
"""

BACKUP = (
    {"model": "contenttypes.ContentType", "made_by_migrate": True},
    {"model": "auth.Permission", "made_by_migrate": True},
    {"model": "auth.Group"},
    {"model": "auth.User"},
    {"model": "admin.LogEntry"},
    {"model": "accounts.Invitation"},
)

LEFT_OUT = {
    "sessions.Session": "Whoever holds one is logged in.",
    "accounts.Credential": "It belongs to a link that opens an account.",
    "accounts.AddressRequest": "Lives until its mail is sent, a day at most.",
    "accounts.AddressChange": "Lives a day; the link that confirms it is not kept.",
    "accounts.FormerAddress": "Lives until its mail is sent, a day at most.",
    "accounts.WayInChange": "Lives until its mail is sent, a day at most.",
    "accounts.Guess": "Counts wrong passwords of late.",
    "accounts.Tally": "Counts what one client did lately.",
}
