"""What the soak asks beside the common load: a schedule, dead letters, handlers that wait or hold the GIL."""
