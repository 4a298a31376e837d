"""An archive of the whole installation back into an empty database."""
