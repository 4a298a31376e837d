"""Which addresses mail can be sent to, and how they are written on the wire."""

from email_validator import EmailNotValidError, ValidatedEmail, validate_email

from notifications.errors import AddressUnsendable


def sendable(address: str) -> str:
    """The address as SMTP takes it without SMTPUTF8: ASCII local part, the domain in IDNA 2008.

    Raises ``AddressUnsendable`` for anything else: a malformed or overlong one, one with a control
    character, a local part that is not ASCII (few servers take it, and it cannot be rewritten).
    """
    try:
        checked: ValidatedEmail = validate_email(
            address,
            check_deliverability=False,
            globally_deliverable=False,
            allow_smtputf8=False,
            allow_quoted_local=True,
            strict=True,
        )
    except EmailNotValidError:
        raise AddressUnsendable(
            "expected an address such as name@example.org with an ASCII name; correct it in the account"
        ) from None
    if checked.ascii_email is None:
        raise AddressUnsendable(
            "expected an address whose name before the @ is ASCII; correct it in the account"
        )
    return checked.ascii_email
