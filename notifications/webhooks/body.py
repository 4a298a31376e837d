"""What is sent: a CloudEvent 1.0 in its structured JSON form."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from notifications.webhooks.conf import conf

CONTENT_TYPE = "application/cloudevents+json"


def cloud_event(
    event_id: UUID, event_type: str, *, at: datetime, subject: str, data: dict[str, Any]
) -> bytes:
    """The event as it is stored and sent. ``subject`` is left out where it is empty."""
    said: dict[str, Any] = {
        "specversion": "1.0",
        "id": str(event_id),
        "source": conf().webhooks_source,
        "type": event_type,
        "time": at.isoformat(),
    }
    if subject:
        said["subject"] = subject
    said |= {"datacontenttype": "application/json", "data": data}
    return json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
