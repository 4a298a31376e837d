"""The smallest project that adopts the queue: what hubqueue's side of the benchmark runs."""
