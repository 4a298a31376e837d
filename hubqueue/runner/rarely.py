"""Say what goes on and on no more than once a minute."""

import logging
from time import monotonic

log = logging.getLogger(__name__)

EVERY = 60.0


class Rarely:
    """Warns of the first trouble at once, and then keeps quiet for a while."""

    def __init__(self) -> None:
        self._said_at = -EVERY

    def warn(self, sentence: str, *values: object) -> None:
        if monotonic() - self._said_at >= EVERY:
            log.warning(sentence, *values)
            self._said_at = monotonic()
