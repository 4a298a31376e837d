"""The cases. Importing this registers them, in the order in which they are listed and run."""

from bench.cases import (  # noqa: F401, I001 - they register themselves, in this order
    enqueue,
    drain,
    latency,
    backlog,
    tenants,
    snapshot,
    crash,
    memory,
    idle,
    doorbell,
    leads,
    mail,
    backup,
    floor,
)
from bench.registry import CASES

__all__ = ["CASES"]
