"""The whole database by PostgreSQL's own programs: out of it, and back into an empty one."""
