"""What the soak asks of a queue beside the common load: a schedule, dead letters, and a handler that holds the GIL."""
