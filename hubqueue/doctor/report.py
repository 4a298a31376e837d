"""The findings together: as lines for a terminal, as one JSON object for a program."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hubqueue.doctor.finding import Finding, Severity

ORDER = list(Severity)


@dataclass(frozen=True, slots=True)
class Report:
    """Findings, the gravest first."""

    findings: Sequence[Finding]

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> "Report":
        return cls(sorted(findings, key=lambda each: ORDER.index(each.severity)))

    @property
    def failed(self) -> bool:
        """Whether an error was found."""
        return self.count(Severity.ERROR) > 0

    def count(self, severity: Severity) -> int:
        return sum(each.severity is severity for each in self.findings)

    def summary(self) -> str:
        counted = (
            (self.count(Severity.ERROR), "error"),
            (self.count(Severity.WARNING), "warning"),
        )
        told = [f"{number} {word}{'' if number == 1 else 's'}" for number, word in counted]
        return f"{', '.join(told)}, {self.count(Severity.OK)} ok"

    def as_json(self) -> dict[str, Any]:
        """``{"errors": n, "warnings": n, "findings": [{severity, code, expected, found, advice}, ...]}``."""
        return {
            "errors": self.count(Severity.ERROR),
            "warnings": self.count(Severity.WARNING),
            "findings": [asdict(each) for each in self.findings],
        }
