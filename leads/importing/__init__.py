"""Registrations from files: bytes to records, records to rows, rows to the database."""
