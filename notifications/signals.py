"""What the notifications app tells. Receivers get plain numbers and codes."""

from django.dispatch import Signal

mail_tried = (
    Signal()
)  # outcome ("sent", a fault's code, or "broken": an exception of ours), seconds
delivery_ended = Signal()  # category, state, reason
sender_paused = Signal()  # code, kinds (list), seconds until the next look
sender_resumed = Signal()  # kinds (list)
