"""The verbs of ``manage.py backups``: a file each, and what they share, ``place`` and ``screen``."""
