"""The settings of the leads app, read once into one frozen, validated object."""

from dataclasses import dataclass, fields
from datetime import timedelta
from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed


@dataclass(frozen=True, slots=True)
class Conf:
    """Each field is the Django setting of the name in upper case. Times are seconds, sizes bytes."""

    leads_sink: str = "leads.sinks.RefusingSink"
    event_lead_cron_limit: int = 1000
    event_lead_batch: int = 200
    event_lead_pass_seconds: int = 600
    event_lead_refusals: int = 100
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

    def problems(self) -> list[str]:
        """What cannot be used, one sentence each."""
        found = []
        for each in fields(self):
            value = getattr(self, each.name)
            wanted = type(each.default)
            fits = isinstance(value, (int, float)) if wanted is float else type(value) is wanted
            if not fits:
                found.append(
                    f"{each.name.upper()} must be {wanted.__name__}, got {type(value).__name__}."
                )
            elif wanted in (int, float) and value <= 0:
                found.append(f"{each.name.upper()} must be above 0, got {value}.")
        if not found and self.leads_http_deadline < self.leads_http_timeout:
            found.append(
                f"LEADS_HTTP_DEADLINE ({self.leads_http_deadline:g} s) must not be below"
                f" LEADS_HTTP_TIMEOUT ({self.leads_http_timeout:g} s)."
            )
        return found


def read() -> Conf:
    """The settings as they stand."""
    names = {each.name: each.name.upper() for each in fields(Conf)}
    given = {f: getattr(settings, name) for f, name in names.items() if hasattr(settings, name)}
    return Conf(**given)


@lru_cache(maxsize=1)
def conf() -> Conf:
    """The settings of this process. Raises ``ImproperlyConfigured`` with all that is wrong."""
    found = read()
    if problems := found.problems():
        raise ImproperlyConfigured(" ".join(problems))
    return found


def _forget(*, setting: str, **_: object) -> None:
    if setting.lower() in Conf.__dataclass_fields__:
        conf.cache_clear()


setting_changed.connect(_forget)
