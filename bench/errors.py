"""Why there is no figure."""


class Skipped(Exception):
    """The case means nothing for this system, or cannot be measured yet: one sentence."""


class Broken(Exception):
    """The measurement failed: one sentence, and where to read more."""
