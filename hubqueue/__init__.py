"""hubqueue: background work with the guarantees of your PostgreSQL database."""

__version__ = "0.1.0"
