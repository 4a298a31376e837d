"""The form of an archive: its members, its manifest, its key, and whether it is sound."""
