"""The rows of targets: their credentials, their pages, their tests, and what opens them."""

import logging
import sys

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.checks import run_checks
from django.core.signals import got_request_exception
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.views.debug import ExceptionReporter

from backups.errors import (
    ConfigRefused,
    CredentialSealed,
    KindUnknown,
    KindWithoutAdapter,
    PackageMissing,
    TargetError,
    TargetRefused,
)
from backups.models import BackupTarget
from backups.targets import opening
from backups.targets.config import problems
from backups.targets.credential import keep_credential, read_credential
from backups.targets.opening import open_store
from backups.targets.trial import try_target

pytestmark = pytest.mark.django_db
SECRET = "the-secret-of-this-test"
S3 = {"bucket": "bucket", "access_key": "AKIA"}
PEM = "-----BEGIN CERTIFICATE-----"


@pytest.fixture
def volume(tmp_path, settings):
    settings.BACKUPS_VOLUME = str(tmp_path)
    return tmp_path


@pytest.fixture
def boss(client):
    client.force_login(User.objects.create_superuser("boss"))
    return client


def target(kind="local", config=None, **more):
    return BackupTarget.objects.create(
        name=more.pop("name", kind), kind=kind, config=config or {}, **more
    )


def form(**changes):
    return {
        "name": "Store",
        "kind": "s3",
        "config": '{"bucket": "bucket", "access_key": "AKIA"}',
        "new_credential": SECRET,
        "encryption": "client",
        "enabled": "on",
    } | changes


def page(name, *args):
    return reverse(f"admin:backups_backuptarget_{name}", args=args)


def test_a_credential_opens_for_its_own_row_and_kind_only():
    one, other = target("s3", S3), target("sftp")
    keep_credential(one, SECRET)
    assert read_credential(one) == SECRET
    sealed = BackupTarget.objects.values_list("credential", flat=True).get(pk=one.pk)
    assert SECRET.encode() not in bytes(sealed)
    BackupTarget.objects.filter(pk=other.pk).update(credential=sealed)
    with pytest.raises(CredentialSealed):
        read_credential(other)
    one.kind = "webdav"
    with pytest.raises(CredentialSealed):
        read_credential(one)
    keep_credential(one, "")
    assert read_credential(one) == ""


def test_a_credential_opens_after_a_change_of_the_key_while_the_old_one_is_a_fallback(settings):
    one = target("s3", S3)
    keep_credential(one, SECRET)
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another" * 10
    with pytest.raises(CredentialSealed):
        read_credential(one)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert read_credential(one) == SECRET


def test_no_query_for_targets_selects_the_credential(boss):
    one = target("s3", S3)
    with CaptureQueriesContext(connection) as asked:
        list(BackupTarget.objects.all())
        one.refresh_from_db()
        boss.get(page("changelist"))
        boss.get(page("change", one.pk))
    read = [
        each["sql"].partition(" FROM ")[0]
        for each in asked
        if "backups_backuptarget" in each["sql"]
    ]
    assert read
    assert not [each for each in read if "credential" in each]


def test_an_unknown_kind_and_a_known_one_without_adapter_are_different_refusals(monkeypatch):
    with pytest.raises(KindUnknown, match="'ftp'"):
        open_store(target("ftp"))
    monkeypatch.delitem(opening.ADAPTERS, "s3")
    with pytest.raises(KindWithoutAdapter):
        open_store(target("s3", S3))


def test_a_package_that_is_missing_is_named(monkeypatch):
    def missing(_):
        raise ModuleNotFoundError("no", name="obstore")

    monkeypatch.setattr(opening, "import_module", missing)
    with pytest.raises(PackageMissing, match="obstore"):
        open_store(target("s3", S3))


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        ("local", {}, "'path' is required"),
        ("local", {"path": "../out"}, "relative to the volume"),
        ("local", {"path": "/etc"}, "relative to the volume"),
        ("local", [], "must be an object"),
        ("s3", {**S3, "secret": "x"}, "'secret' is not known"),
        ("s3", {**S3, "endpoint": "https://me:pw@host"}, "'endpoint'"),
        ("sftp", {"host": "h", "user": "u"}, "'host_key' is required"),
        ("sftp", {"host": "h", "user": "u", "host_key": "any"}, "'host_key' must be"),
        (
            "sftp",
            {"host": "h", "user": "u", "host_key": "SHA256:x", "port": "22"},
            "'port' must be a number",
        ),
        ("webdav", {"url": "http://nas/x", "user": "u"}, "https://"),
        ("webdav", {"url": "https://nas/x", "user": "u\n"}, "'user' must be one line"),
        ("webdav", {"url": "https://nas/x", "user": "u" * 1001}, "'user' must be one line"),
        ("s3", {**S3, "access_key": "A\n"}, "'access_key' must be one line"),
        ("s3", {**S3, "access_key": "A B"}, "'access_key' must be the id of a key"),
        ("s3", {**S3, "region": "eu/1"}, "'region' must be the name of a region"),
        ("s3", {**S3, "ca": f"{PEM}\n{PEM.replace('BEGIN', 'END')}"}, "'ca' must be"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused_in_words(kind, config, said):
    assert said in " ".join(problems(kind, config))
    with pytest.raises(ConfigRefused):
        open_store(target(kind, config))


def test_no_encryption_needs_somebody_who_accepted_it():
    with pytest.raises(IntegrityError), transaction.atomic():
        target(encryption="none")


def test_local_targets_follow_no_symbolic_link_out_of_the_volume(volume, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "there").write_bytes(b"secret")
    (volume / "inside").mkdir()
    (volume / "inside" / "link").symlink_to(outside)
    (volume / "inside" / "file").symlink_to(outside / "there")
    (volume / "away").symlink_to(outside)
    with open_store(target(config={"path": "inside"})) as store:
        assert list(store.list()) == []
        for refused in (
            lambda: store.put("link/new", [b"x"]),
            lambda: store.size("file"),
            lambda: store.size("link/there"),
        ):
            with pytest.raises(TargetRefused):
                refused()
        store.put("file", [b"mine"])  # takes the link's place
    with open_store(target(name="away", config={"path": "away"})) as store:
        with pytest.raises(TargetRefused):
            store.put("new", [b"x"])
    assert [each.name for each in outside.iterdir()] == ["there"]
    assert (outside / "there").read_bytes() == b"secret"


def test_a_local_target_without_a_volume_is_refused(settings):
    settings.BACKUPS_VOLUME = ""
    with pytest.raises(ConfigRefused, match="BACKUPS_VOLUME"):
        open_store(target(config={"path": "a"}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BACKUPS_VOLUME", "relative"),
        ("BACKUPS_TIMEOUT", 0.0),
        ("BACKUPS_TIMEOUT", float("nan")),
        ("BACKUPS_TIMEOUT", float("inf")),
    ],
)
def test_settings_that_cannot_be_used_are_named(settings, name, value):
    setattr(settings, name, value)
    assert [each.id for each in run_checks() if each.id.startswith("backups.")] == ["backups.E001"]


def test_a_test_leaves_nothing_but_its_code(volume):
    one = target(config={"path": "a/b"})
    try_target(one)
    one.refresh_from_db()
    assert one.tested_code == "ok"
    assert one.tested_at is not None
    assert list((volume / "a" / "b").iterdir()) == []


def test_officers_test_a_target_and_are_told_in_words(boss, volume, settings):
    one = target(config={"path": "a"})
    said = boss.post(page("test", one.pk), {"confirmed": "1", "reason": "new"}, follow=True)
    assert "takes, gives back and deletes" in said.content.decode()
    settings.BACKUPS_VOLUME = str(volume / "gone")
    said = boss.post(page("test", one.pk), {"confirmed": "1", "reason": "again"}, follow=True)
    assert "is not there" in said.content.decode()
    one.refresh_from_db()
    assert one.tested_code == "backups.target_unreachable"


def test_a_test_needs_its_own_permission(client, volume):
    one = target(config={"path": "a"})
    officer = User.objects.create_user("officer", is_staff=True)
    officer.user_permissions.set(
        Permission.objects.filter(codename__in=["view_backuptarget", "change_backuptarget"])
    )
    client.force_login(officer)
    client.post(page("test", one.pk), {"confirmed": "1", "reason": "new"})
    one.refresh_from_db()
    assert one.tested_at is None


def test_a_credential_goes_in_and_never_comes_out(boss, caplog):
    with caplog.at_level(logging.DEBUG):
        made = boss.post(page("add"), form())
        assert made.status_code == 302, made.context["errors"]
        one = BackupTarget.objects.get()
        boss.post(page("change", one.pk), form(name="Renamed", new_credential=""))
        said = "".join(
            boss.get(page(*where)).content.decode()
            for where in [("changelist",), ("change", one.pk), ("history", one.pk)]
        )
        refused = boss.post(page("add"), form(config="{}")).content.decode()
    assert read_credential(one) == SECRET
    assert LogEntry.objects.count() == 2
    everything = said + caplog.text + repr(one) + str(list(LogEntry.objects.values()))
    assert SECRET not in everything
    assert "is required" in refused


@pytest.mark.parametrize(
    "config",
    ['{"bucket": "b", "access_key": "\\u0000"}', '{"port": ' + "9" * 5000 + "}", "[" * 100_000],
)
def test_json_that_no_database_holds_is_refused_at_its_field(boss, config):
    said = boss.post(page("add"), form(config=config))
    assert "config" in said.context["adminform"].form.errors
    assert not BackupTarget.objects.exists()


def test_the_report_of_an_error_does_not_tell_the_credential(boss, monkeypatch):
    def broken(target, secret):
        raise RuntimeError("broken")

    monkeypatch.setattr("backups.admin.targets.keep_credential", broken)
    reports = []

    def report(request, **_):
        reports.append(ExceptionReporter(request, *sys.exc_info()).get_traceback_html())

    with pytest.raises(RuntimeError):
        got_request_exception.connect(report)
        try:
            boss.post(page("add"), form())
        finally:
            got_request_exception.disconnect(report)
    assert "new_credential" in reports[0]
    assert SECRET not in reports[0]


def test_a_client_of_s3_that_panics_fails_as_a_target_does(monkeypatch):
    """What it raises is no ``Exception``, and would end whatever runs."""

    class PanicException(BaseException):
        pass

    def panics(*_, **__):
        raise PanicException

    monkeypatch.setattr("obstore.put", panics)
    with open_store(target("s3", S3)) as store, pytest.raises(TargetError, match="gave up"):
        store.put("x", [b"x"])


def test_a_credential_is_not_sent_to_another_host_than_it_was_entered_for(boss):
    boss.post(page("add"), form())
    one = BackupTarget.objects.get()
    moved = form(
        new_credential="",
        config='{"bucket": "bucket", "access_key": "AKIA", "endpoint": "https://evil.example"}',
    )
    said = boss.post(page("change", one.pk), moved)
    assert "enter its credential" in said.content.decode()
    one.refresh_from_db()
    assert "endpoint" not in one.config


def test_no_encryption_records_who_accepted_it_and_warns_for_ever(boss):
    said = boss.post(page("add"), form(encryption="none"))
    assert "archives are encrypted" in said.content.decode()
    boss.post(page("add"), form(encryption="none", plain_accepted="on"))
    one = BackupTarget.objects.get()
    assert one.plain_by == "boss"
    assert one.plain_at is not None
    assert "not encrypted" in boss.get(page("changelist")).content.decode()
    assert "are not encrypted" in boss.get(page("change", one.pk)).content.decode()
    boss.post(page("change", one.pk), form(new_credential=""))
    one.refresh_from_db()
    assert (one.plain_by, one.plain_at) == ("", None)
