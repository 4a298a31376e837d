"""One file per environment: development, production, test; what they share is in base."""
