"""What the leads app counts, and what ``manage.py check`` says about its settings."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from prometheus_client import REGISTRY

from leads import services
from leads.checks import check_settings
from leads.conf import conf
from leads.sinks import RefusingSink
from tests.leads.made import make_event, walk_all

pytestmark = pytest.mark.django_db


def value(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


def test_a_pass_is_counted_with_what_it_did():
    services.create_rule(name="r", on_create=True)
    counts = {
        name: value("leads_pass_counts_total", kind="leads.generate", count=name)
        for name in ("claimed", "leads_created", "parked")
    }
    passes = value("leads_passes_total", kind="leads.generate")
    services.register(make_event(), name="A", phone="1")
    walk_all()
    services.register(make_event(), name="A", phone="1")
    walk_all(RefusingSink())
    after = {
        name: value("leads_pass_counts_total", kind="leads.generate", count=name) - count
        for name, count in counts.items()
    }
    assert after == {"claimed": 2, "leads_created": 1, "parked": 1}
    assert value("leads_passes_total", kind="leads.generate") - passes == 2


@pytest.mark.parametrize(
    ("setting", "given", "check"),
    [
        ("LEADS_SINK", "leads.sinks.Nowhere", "leads.E002"),
        ("LEADS_SINK", "leads.models.Lead", "leads.E002"),
        ("LEADS_SINK", "leads.sinks.RefusingSink", "leads.W001"),
        ("LEADS_SINK", "leads.sinks.HttpSink", "leads.E003"),
        ("EVENT_LEAD_BATCH", 0, "leads.E001"),
        ("EVENT_LEAD_BATCH", "many", "leads.E001"),
        ("LEADS_HTTP_DEADLINE", 1.0, "leads.E001"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_by_check(settings, setting, given, check):
    assert check_settings() == []
    setattr(settings, setting, given)
    assert [each.id for each in check_settings()] == [check]
    if check == "leads.E001":
        with pytest.raises(ImproperlyConfigured, match=setting):
            conf()
