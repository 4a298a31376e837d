"""The soak's own pages of the ledger."""

TABLES = """
CREATE TABLE soak_mercy (name text PRIMARY KEY);
CREATE TABLE soak_tick (at timestamptz NOT NULL, job uuid NOT NULL)
"""
