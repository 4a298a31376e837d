"""The scheduler: runs in every replica, acts in one. What a tick decides becomes a job. See docs/scheduler.md."""
