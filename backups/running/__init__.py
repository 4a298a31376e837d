"""The work of a run: from an open target to an archive that was read back."""
