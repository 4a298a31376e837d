"""One adapter per system: `NAME.py` or `NAME.mjs`, and what it installs in `NAME.txt`.

A Python adapter is imported in the system's own virtualenv only. Its functions may be coroutines:

- `facts()`: `tables` to empty between runs, `unfinished` (SQL that counts what is not done yet, as stored),
  `slower` (divide the number of jobs by it), `clone` (how a row is multiplied: see `bench/system.py`),
  `setting` (one sentence for the reader);
- `setup()` makes the tables in an empty database; `open()` and `close()` the client's connection;
- `enqueue(kind, number)`, and `enqueue_many(kind, numbers)` where there is a bulk call, else `load(kind, numbers)`;
- `worker(concurrency, processes)` becomes the worker; concurrency None = the best setting found.

Kinds: `noop`, `effect` (inserts its number into the table `effect`) and `sleep` (5 seconds). Each body first
calls `bench.starts.note(number)`.
"""

import os

DSN = os.environ.get("BENCH_DSN", "")
EFFECT = "INSERT INTO effect (number) VALUES (%s)"
SLEEP = 5
