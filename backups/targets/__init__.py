"""Where archives are kept: one way to put, get, list and delete objects, whatever the target speaks."""
