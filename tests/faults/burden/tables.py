"""The ledger of a load. What a committed enqueue promised stands in one table, what was done in the other."""

TABLES = """
CREATE TABLE burden_wanted (name text PRIMARY KEY, key text, at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON burden_wanted (key);
CREATE TABLE burden_effect (
    name text PRIMARY KEY, fence bigint NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp()
)
"""

WANT = "INSERT INTO burden_wanted (name, key) VALUES (%s, %s)"
DO = "INSERT INTO burden_effect (name, fence) VALUES (%s, %s)"
DO_ALL_OF_KEY = """
INSERT INTO burden_effect (name, fence)
SELECT name, %s FROM burden_wanted AS wanted
WHERE key = %s AND NOT EXISTS (SELECT 1 FROM burden_effect AS done WHERE done.name = wanted.name)
"""
