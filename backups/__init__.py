"""Backups: archives of what the applications keep, at targets that people configure, and the way back from them."""
