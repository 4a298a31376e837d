"""Leads in a CRM behind HTTP. Called with no transaction open."""

import hashlib
import json
from time import monotonic
from typing import Any
from urllib.parse import quote

from leads.conf import conf
from leads.errors import (
    SinkAddressRefused,
    SinkAnswerRefused,
    SinkError,
    SinkNotWired,
    SinkRefused,
    SinkUnreachable,
)
from leads.grouping import Group, Member
from leads.signals import sink_called
from leads.sinks.base import Sink
from outbound.errors import (
    AddressRefused,
    AnswerTooLong,
    OutboundError,
    Unreachable,
    UrlRefused,
)
from outbound.exchange import Answer, Limits, exchange

# The server is out of order or busy: no other group would fare better now.
_BUSY = frozenset({408, 425, 429})


class HttpSink(Sink):
    """POSTs a new group to ``LEADS_HTTP_URL`` and PATCHes ``<url>/<lead id>`` when it grows.

    The body is JSON: idempotency_key, rule, event, grouping, key, total, members (the new ones). A new
    lead is answered with 200 or 201 and ``{"id": "..."}``; the CRM must answer a repeated
    Idempotency-Key with the lead it made the first time. A redirect is not followed.
    """

    inside_database = False

    def create_lead(self, group: Group) -> str:
        answer = self._call("POST", conf().leads_http_url, group, group.idempotency_key)
        made = _parsed(answer)
        lead_id = made.get("id") if isinstance(made, dict) else None
        if isinstance(lead_id, int) and not isinstance(lead_id, bool):
            lead_id = str(lead_id)
        if not isinstance(lead_id, str):
            raise SinkAnswerRefused("the answer holds no id of a lead")
        return lead_id

    def update_lead(self, lead_id: str, group: Group) -> None:
        grown = hashlib.sha256(b"".join(sorted(member.id.bytes for member in group.new)))
        url = f"{conf().leads_http_url.rstrip('/')}/{quote(lead_id, safe='')}"
        self._call("PATCH", url, group, f"{group.idempotency_key}:{grown.hexdigest()[:32]}")

    def _call(self, verb: str, url: str, group: Group, key: str) -> Answer:
        started = monotonic()
        outcome = "ok"
        try:
            return _accepted(_exchange(verb, url, group, key))
        except SinkError as refused:
            outcome = refused.code
            raise
        finally:
            sink_called.send_robust(
                sender=None, sink="http", verb=verb, outcome=outcome, seconds=monotonic() - started
            )


def _exchange(verb: str, url: str, group: Group, key: str) -> Answer:
    try:
        return exchange(verb, url, body=_body(group), headers=_headers(key), limits=_limits())
    except OutboundError as raised:
        raise _named(raised) from None


def _named(raised: OutboundError) -> SinkError:
    """The same refusal in this app's words."""
    match raised:
        case UrlRefused():
            return SinkNotWired(f"LEADS_HTTP_URL: {raised}")
        case AddressRefused():
            return SinkAddressRefused(f"{raised}; LEADS_HTTP_ALLOW_PRIVATE allows private ones")
        case AnswerTooLong():
            return SinkAnswerRefused(str(raised))
        case Unreachable():
            return SinkUnreachable(str(raised))
    return SinkUnreachable("no answer")


def _parsed(answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise SinkAnswerRefused("the answer is not JSON") from None


def _accepted(answer: Answer) -> Answer:
    if 200 <= answer.code < 300:
        return answer
    said = f"the CRM answered {answer.code}"
    if 300 <= answer.code < 400:
        raise SinkAnswerRefused(f"{said}; redirects are not followed")
    if answer.code >= 500 or answer.code in _BUSY:
        raise SinkUnreachable(said)
    raise SinkRefused(said)


def _headers(key: str) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "hubqueue-leads",
        "Idempotency-Key": key,
    }
    if conf().leads_http_token:
        headers["Authorization"] = f"Bearer {conf().leads_http_token}"
    return headers


def _limits() -> Limits:
    return Limits(
        timeout=conf().leads_http_timeout,
        deadline=conf().leads_http_deadline,
        size=conf().leads_http_answer_limit,
        private=conf().leads_http_allow_private,
    )


def _body(group: Group) -> bytes:
    said: dict[str, Any] = {
        "idempotency_key": group.idempotency_key,
        "lead_id": group.lead_id,
        "rule": {"id": str(group.rule_id), "name": group.rule_name},
        "event": {"id": str(group.event.pk), "code": group.event.code, "name": group.event.name},
        "tenant": group.event.tenant_id,
        "grouping": group.grouping.value,
        "key": group.key,
        "total": group.total,
        "members": [_member(member) for member in group.new],
    }
    return json.dumps(said, ensure_ascii=False).encode()


def _member(member: Member) -> dict[str, Any]:
    return {
        "id": str(member.id),
        "state": member.state,
        "name": member.name,
        "email": member.email,
        "phone": member.phone,
        "company_name": member.company_name,
        "partner_id": member.partner_id,
        "sale_order_id": member.sale_order_id,
        "created_at": member.created_at.isoformat(),
    }
