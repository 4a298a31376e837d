"""Rows that refer to their like, to each other in circles, and whose keys are those of other rows."""
# ruff: noqa: DJ008 - nobody looks at the rows

from uuid import uuid4

from django.db import models


class Place(models.Model):
    """May lie within its like."""

    tenant_id = models.CharField(max_length=20)
    name = models.TextField()
    within = models.ForeignKey("self", models.CASCADE, null=True)


class Inn(Place):
    """A place, with a cook who may be of another inn."""

    cook = models.ForeignKey("Cook", models.SET_NULL, null=True, related_name="+")


class Hotel(Inn):
    """An inn, and so a place."""

    stars = models.IntegerField()


class Cook(models.Model):
    """No cook without an inn, which leads to the tenant and comes later in the alphabet."""

    name = models.TextField()
    inn = models.ForeignKey(Inn, models.CASCADE)
    likes = models.ManyToManyField(Hotel)


class Account(models.Model):
    """Its key is its owner's, who comes later in the alphabet."""

    owner = models.OneToOneField("Owner", models.CASCADE, primary_key=True, related_name="+")
    name = models.TextField()


class Owner(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid4)
    tenant_id = models.CharField(max_length=20)
    name = models.TextField()
    pays_from = models.ForeignKey(Account, models.SET_NULL, null=True)


class Seal(models.Model):
    """Its key is that of a row whose key is another's as well."""

    account = models.OneToOneField(Account, models.CASCADE, primary_key=True)
    name = models.TextField()


class Hen(models.Model):
    """No hen without an egg."""

    tenant_id = models.CharField(max_length=20)
    name = models.TextField()
    came_of = models.ForeignKey("Egg", models.CASCADE)


class Egg(models.Model):
    """No egg without a hen."""

    name = models.TextField()
    laid_by = models.ForeignKey(Hen, models.CASCADE)


class Link(models.Model):
    """No link without a next one, at last the first."""

    id = models.UUIDField(primary_key=True, default=uuid4)
    tenant_id = models.CharField(max_length=20)
    name = models.TextField()
    next = models.ForeignKey("self", models.CASCADE)


class Grade(models.Model):
    """Of no tenant, with a key of two columns."""

    pk = models.CompositePrimaryKey("guide", "number")
    guide = models.CharField(max_length=20)
    number = models.IntegerField()
