"""Verbs of ``manage.py backups`` that have a file of their own."""
