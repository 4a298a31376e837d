"""What the embedded database refuses."""

from django.core.exceptions import ImproperlyConfigured


class EmbeddedDatabaseError(ImproperlyConfigured):
    """The embedded database cannot be used as things are; the message says what to do."""
