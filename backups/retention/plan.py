"""How much a schedule keeps."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Plan:
    """Numbers of archives, days, ISO weeks, months and years; 0 keeps nothing for that reason.

    ``min_keep`` good archives stay whatever the others say, so it is at least 1. Raises ``ValueError``.
    """

    keep_last: int = 7
    keep_daily: int = 14
    keep_weekly: int = 8
    keep_monthly: int = 12
    keep_yearly: int = 3
    min_keep: int = 3

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 1 if field.name == "min_keep" else 0
            value = getattr(self, field.name)
            if type(value) is not int or value < least:
                raise ValueError(
                    f"{field.name} must be a whole number of at least {least}, got {value!r}"
                )
