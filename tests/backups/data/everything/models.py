"""A model with every type of column, and models that refer to each other in every way."""
# ruff: noqa: DJ001, DJ008 - NULL and empty differ here, and nobody looks at the rows

from typing import Any

from django.contrib.postgres import fields as postgres
from django.db import models
from django.db.models.functions import Upper


class Column(models.Field):
    """A column of any type of PostgreSQL's."""

    def __init__(self, type_: str, **kwargs: Any) -> None:
        self.type = type_
        super().__init__(**kwargs)

    def db_type(self, connection: Any) -> str:
        return self.type

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        return name, path, [self.type, *args], kwargs


class Everything(models.Model):
    big = models.BigIntegerField(null=True)
    blob = models.BinaryField(null=True)
    flag = models.BooleanField(null=True)
    chars = models.CharField(max_length=50, null=True)
    day = models.DateField(null=True)
    moment = models.DateTimeField(null=True)
    number = models.DecimalField(max_digits=40, decimal_places=10, null=True)
    any_number = Column("numeric", null=True)
    duration = models.DurationField(null=True)
    mail = models.EmailField(null=True)
    file = models.FileField(null=True)
    path = models.FilePathField(null=True)
    float8 = models.FloatField(null=True)
    float4 = Column("real", null=True)
    address = models.GenericIPAddressField(null=True)
    network = Column("cidr", null=True)
    integer = models.IntegerField(null=True)
    jsonb = models.JSONField(null=True)
    json = Column("json", null=True)
    small = models.SmallIntegerField(null=True)
    positive = models.PositiveBigIntegerField(null=True)
    slug = models.SlugField(null=True)
    text = models.TextField(null=True)
    time = models.TimeField(null=True)
    url = models.URLField(null=True)
    uuid = models.UUIDField(null=True)
    array = postgres.ArrayField(models.TextField(null=True), null=True)
    nested = postgres.ArrayField(postgres.ArrayField(models.FloatField()), null=True)
    integers = postgres.IntegerRangeField(null=True)
    bigs = postgres.BigIntegerRangeField(null=True)
    decimals = postgres.DecimalRangeField(null=True)
    moments = postgres.DateTimeRangeField(null=True)
    days = postgres.DateRangeField(null=True)
    many = Column("int4multirange", null=True)
    many_moments = Column("tstzmultirange", null=True)
    padded = Column("char(5)", null=True)
    unpadded = Column("bpchar", null=True)
    local = Column("timestamp", null=True)
    timetz = Column("timetz", null=True)
    money = Column("money", null=True)
    bits = Column("bit varying(70)", null=True)
    xml = Column("xml", null=True)
    search = Column("tsvector", null=True)
    query = Column("tsquery", null=True)
    mac = Column("macaddr", null=True)
    place = Column("point", null=True)
    quoted = models.TextField(db_column="odd name 100%", null=True)
    upper = models.GeneratedField(
        expression=Upper("chars"), output_field=models.CharField(max_length=50), db_persist=True
    )


class Contrib(models.Model):
    """Types of PostgreSQL's extensions."""

    words = Column("citext", null=True)
    pairs = postgres.HStoreField(null=True)

    class Meta:
        required_db_features = {"has_no_such_thing"}  # made by the test that finds the extensions


class Person(models.Model):
    """Refers to its like."""

    name = models.TextField()
    tenant_id = models.CharField(max_length=20, null=True)
    boss = models.ForeignKey("self", models.CASCADE, null=True)
    secret = models.TextField(null=True)
    friends = models.ManyToManyField("self", symmetrical=False, related_name="+")
    clubs = models.ManyToManyField("Club")


class Club(models.Model):
    name = models.TextField(primary_key=True)


class Hen(models.Model):
    """No hen without an egg."""

    came_of = models.ForeignKey("Egg", models.CASCADE)


class Egg(models.Model):
    """No egg without a hen."""

    laid_by = models.ForeignKey(Hen, models.CASCADE)


class Stamped(models.Model):
    """A row of a person's, with several keys to its name and a column that is the database's."""

    pk = models.CompositePrimaryKey("person_id", "number")
    person = models.ForeignKey(Person, models.CASCADE)
    number = models.IntegerField()
    stamp = models.IntegerField(db_default=7)


class Left(models.Model):
    """An account on the left."""

    amount = models.IntegerField()


class Right(models.Model):
    """An account on the right."""

    amount = models.IntegerField()
