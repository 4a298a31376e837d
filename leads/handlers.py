"""Every kind of job of this app, for the queue to find."""

from leads.generate_handler import generate, run, seed
from leads.import_handler import import_registrations
from leads.parked_handler import tell_parked

__all__ = ["generate", "import_registrations", "run", "seed", "tell_parked"]
