"""Names for what people and code ask of registrations. They read; nothing here changes one."""


from django.db import models


class RegistrationQuerySet(models.QuerySet["Registration"]):
    def eligible(self, *, done_only: bool = False) -> "RegistrationQuerySet":
        """Active ones that are open or done, or done only."""
        states = ["done"] if done_only else ["open", "done"]
        return self.filter(active=True, state__in=states)
