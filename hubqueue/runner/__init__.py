"""What happens in a worker's processes: a supervisor that runs no handler, and its children that do."""
