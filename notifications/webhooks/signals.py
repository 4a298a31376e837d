"""What webhooks tell, after commit. Receivers get ids, codes and numbers, never a URL or a body."""

from django.dispatch import Signal

attempt_ended = Signal()  # message_id, subscription_id, attempt, outcome, code, seconds
message_ended = Signal()  # message_id, subscription_id, state, reason
subscription_disabled = Signal()  # subscription_id, reason
