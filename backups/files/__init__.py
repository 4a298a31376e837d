"""The files that rows name: from a storage into an archive, and back under the same names."""
