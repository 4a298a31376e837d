"""What this app refuses, each with a stable code and a sentence that holds no value."""


class NotificationError(Exception):
    """Raised for a request that cannot be served. ``code`` is stable."""

    code = "notifications.error"


class CategoryUnknown(NotificationError):
    """No application registered this category."""

    code = "notifications.category_unknown"


class AddressUnsendable(NotificationError):
    """No mail can be sent to this address, now or later: it is malformed, too long or not supported."""

    code = "notifications.address_unsendable"


class SealBroken(NotificationError):
    """What was sealed cannot be read with the keys of this installation."""

    code = "notifications.seal_broken"


class PreferenceRefused(NotificationError):
    """A person cannot choose this. Its sentence is for them, in the language of the page."""

    code = "notifications.preference_refused"


class NotificationNotFound(NotificationError):
    """There is no record of this id."""

    code = "notifications.not_found"


class RecordGone(NotificationError):
    """The record was deleted or finished between being read and being sent."""

    code = "notifications.record_gone"


class ResendRefused(NotificationError):
    """The record is in a state in which an officer cannot have it sent again."""

    code = "notifications.resend_refused"


class HeldRefused(NotificationError):
    """The message is not one that a restore set aside, or cannot be released as things stand."""

    code = "notifications.held_refused"


class EventTypeUnknown(NotificationError):
    """No application registered this type of event."""

    code = "notifications.event_type_unknown"


class WebhookVerbRefused(NotificationError):
    """An officer's verb does not fit the subscription or the message as it stands."""

    code = "notifications.webhook_verb_refused"
