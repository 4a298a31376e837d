"""What the leads app tells. Receivers get plain numbers and codes."""

from django.dispatch import Signal

pass_ended = Signal()  # kind, and the counts of a Summary by name
sink_called = Signal()  # sink, verb, outcome ("ok" or a code), seconds
import_ended = Signal()  # imported, duplicates, bad
