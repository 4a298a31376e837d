"""What the accounts app tells. Receivers get words, never whose account it was."""

from django.dispatch import Signal

asked = Signal()  # outcome: "taken", or the name of the limit that was passed
link_used = Signal()  # purpose, outcome ("ok" or a code)
