"""What the notifications app tells. Receivers get plain numbers and codes."""

from django.dispatch import Signal

# outcome ("sent", a fault's code, or "broken": an exception of ours), stage, reply (three digits or None), seconds
mail_tried = Signal()
delivery_ended = Signal()  # category, state, reason, count (1 when left out)
sender_paused = Signal()  # code, kinds (list), seconds until the next look
sender_resumed = Signal()  # kinds (list)
