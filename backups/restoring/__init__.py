"""One tenant's rows out of an archive into a database that is in use."""
