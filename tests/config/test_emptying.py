"""What a test commits is gone after it, and what a migrated database has in it is there."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.db import connection, transaction
from django.test import TransactionTestCase

from tests.support.emptying import Emptying

pytestmark = pytest.mark.django_db(transaction=True)


def permissions() -> list[Any]:
    fields = ("content_type__app_label", "content_type__model", "codename", "name")
    return list(Permission.objects.order_by(*fields).values_list("pk", *fields))


def test_rows_and_what_refers_to_them_are_gone_and_permissions_stay() -> None:
    before = permissions()
    emptying = Emptying()
    group = Group.objects.create(name="officers")
    group.permissions.set(Permission.objects.all())
    User.objects.create(username="pat").groups.add(group)
    emptying.after(TransactionTestCase())
    assert not Group.objects.exists()
    assert not User.objects.exists()
    assert not Group.permissions.through.objects.exists()
    assert permissions() == before != []


def test_not_even_the_room_that_was_rolled_back_stays() -> None:
    emptying = Emptying()
    with transaction.atomic():
        Group.objects.create(name="never")
        transaction.set_rollback(True)
    emptying.after(TransactionTestCase())
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_relation_size('auth_group')")
        assert cursor.fetchone() == (0,)


def test_a_permission_that_was_added_renamed_or_deleted_is_as_it_was() -> None:
    before = [each[1:] for each in permissions()]
    emptying = Emptying()
    first, second, third = Permission.objects.all()[:3]
    Permission.objects.create(name="may", codename="more", content_type=first.content_type)
    Permission.objects.filter(pk=second.pk).update(name="changed")
    third.delete()
    emptying.after(TransactionTestCase())
    assert [each[1:] for each in permissions()] == before
