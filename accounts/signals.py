"""What the accounts app tells. Receivers get words, never whose account it was."""

from django.dispatch import Signal

asked = Signal()  # outcome: "taken", or the name of the limit that was passed
login_tried = Signal()  # outcome: "taken", "wrong", or the name of the wait that lasts
link_used = Signal()  # purpose, outcome ("ok" or a code)
