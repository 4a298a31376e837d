"""The settings of the leads app, read once into one frozen, validated object."""

from dataclasses import dataclass
from datetime import timedelta

from hubqueue.appsettings import mistyped, reader


@dataclass(frozen=True, slots=True)
class Conf:
    """Each field is the Django setting of the name in upper case. Times are seconds, sizes bytes."""

    leads_sink: str = "leads.sinks.RefusingSink"
    event_lead_cron_limit: int = 1000
    event_lead_batch: int = 200
    event_lead_pass_seconds: int = 600
    event_lead_refusals: int = 100
    leads_parked_notice: int = 60 * 60
    leads_http_url: str = ""
    leads_http_token: str = ""
    leads_http_allow_private: bool = False
    leads_http_timeout: float = 10.0
    leads_http_deadline: float = 30.0
    leads_http_answer_limit: int = 64 * 1024
    leads_import_size_limit: int = 50 * 1024 * 1024
    leads_import_chunk: int = 500

    @property
    def pass_budget(self) -> timedelta:
        return timedelta(seconds=self.event_lead_pass_seconds)

    @property
    def parked_notice(self) -> timedelta:
        return timedelta(seconds=self.leads_parked_notice)

    def problems(self) -> list[str]:
        """What cannot be used, one sentence each."""
        found = mistyped(self)
        if not found and self.leads_http_deadline < self.leads_http_timeout:
            found.append(
                f"LEADS_HTTP_DEADLINE ({self.leads_http_deadline:g} s) must not be below"
                f" LEADS_HTTP_TIMEOUT ({self.leads_http_timeout:g} s)."
            )
        return found


conf = reader(Conf)
