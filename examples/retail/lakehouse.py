"""The shop: three tables, three people and a service. Everything through the same API that everybody has."""

import datetime as dt
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, DecimalType, LongType, NestedField, StringType

from headgate.cli.session import Session

METALAKE: Final = "shop"
WAREHOUSE: Final = "shop.lake"
REGIONS: Final = ("AMER", "APAC", "EU")
TAGS: Final = {
    "people.name": ("pii", "name"),
    "people.email": ("pii", "email"),
    "people.account": ("pii", "iban"),
    "people.born": ("pii", "birthday"),
    "people.region": ("geo", None),
    "orders.region": ("geo", None),
    "payments.card": ("pii", "card"),
    "payments.region": ("geo", None),
}
"""What each column is; policies speak of tags, not of tables."""
PEOPLE: Final = {
    "ann": ("analyst in Europe", ["analysts"], {"region": "EU"}),
    "bob": ("analyst in America", ["analysts"], {"region": "AMER"}),
    "cara": ("privacy office", ["privacy-office"], {}),
    "recommender": ("a service", [], {}),
}
_NAMES: Final = ("Ada", "Ben", "Chloe", "Dev", "Elif", "Finn", "Gita", "Hugo", "Ines", "Jo")
_FAMILIES: Final = ("Abel", "Brandt", "Costa", "Diaz", "Evans", "Fischer", "Garcia", "Huang", "Ito", "Jansen")

_SCHEMAS: Final = {
    "people": Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "name", StringType()),
        NestedField(3, "email", StringType()),
        NestedField(4, "account", StringType()),
        NestedField(5, "born", DateType()),
        NestedField(6, "region", StringType()),
    ),
    "orders": Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "person", LongType()),
        NestedField(3, "ordered", DateType()),
        NestedField(4, "amount", DecimalType(9, 2)),
        NestedField(5, "region", StringType()),
    ),
    "payments": Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "order", LongType()),
        NestedField(3, "card", StringType()),
        NestedField(4, "amount", DecimalType(9, 2)),
        NestedField(5, "region", StringType()),
    ),
}


def lay_out(admin: Session) -> Iterator[str]:
    """The metalake, its people and their roles; tells each step."""
    here = admin.in_metalake
    yield "the lakehouse"
    admin.post(("metalakes",), {"name": METALAKE, "comment": "a small shop"})
    catalog = {"name": "lake", "type": "relational", "provider": "lakehouse-iceberg"}
    admin.post(here("catalogs"), {**catalog, "properties": {"catalog-backend": "native"}})
    admin.post(here("catalogs", "lake", "schemas"), {"name": "retail"})
    yield "its people"
    reads = [{"name": name, "condition": "allow"} for name in ("use_catalog", "use_schema", "select_table")]
    role = {"type": "catalog", "fullName": "lake", "privileges": reads}
    admin.post(here("roles"), {"name": "reader", "securableObjects": [role]})
    for group in ("analysts", "privacy-office"):
        admin.post(here("groups"), {"name": group})
    for person, (_, _, attributes) in PEOPLE.items():
        admin.post(here("users"), {"name": person})
        admin.put(here("users", person, "attributes"), attributes)
        admin.put(here("permissions", "users", person, "grant"), {"roleNames": ["reader"]})
    for group in ("analysts", "privacy-office"):
        members = [person for person, (_, groups, _) in PEOPLE.items() if group in groups]
        admin.put(here("groups", group, "members"), {"users": members, "groups": []})


def fill(admin: Session, catalog: RestCatalog) -> Iterator[str]:
    """The tables and their rows, then what each column is, then the policies; tells each step."""
    for name, rows in _rows().items():
        yield f"table {name}, {len(rows)} rows"
        schema = _SCHEMAS[name]
        region = schema.find_field("region").field_id
        by_region = PartitionSpec(PartitionField(region, 1000, IdentityTransform(), "region"))
        # People are not partitioned, so that their files hold rows of every region.
        spec = {} if name == "people" else {"partition_spec": by_region}
        table = catalog.create_table(f"retail.{name}", schema, **spec)
        table.append(rows.cast(table.schema().as_arrow()))
    yield "tags"
    here = admin.in_metalake
    admin.post(here("tags"), {"name": "geo"})
    kinds = sorted({value for _, value in TAGS.values() if value})
    admin.post(here("tags"), {"name": "pii", "allowedValues": kinds})
    for column, (tag, value) in TAGS.items():
        given = {"name": tag, "value": value} if value else tag
        path = here("objects", "column", f"lake.retail.{column}", "tags")
        admin.post(path, {"tagsToAdd": [given]})
    yield "policies"
    apply(admin, Path(__file__).with_name("policies.yaml").read_text())


def apply(admin: Session, text: str) -> None:
    """Put policies in force."""
    body = {"files": [{"file": "policies.yaml", "text": text}], "whole": True}
    admin.post(("headgate", "policies", "apply"), body, metalake=METALAKE)


def _rows() -> dict[str, pa.Table]:
    """The same rows every time."""
    chance = random.Random(7)
    people, orders, payments = [], [], []
    for id in range(1, 301):
        name, family = chance.choice(_NAMES), chance.choice(_FAMILIES)
        born = dt.date(1950, 1, 1) + dt.timedelta(days=chance.randrange(20_000))
        people.append(
            {
                "id": id,
                "name": f"{name} {family}",
                "email": f"{name}.{family}{id}@example.org".lower(),
                "account": f"DE{chance.randrange(10**20):020d}",
                "born": born,
                "region": REGIONS[id % 3],
            }
        )
    for id in range(1, 3_001):
        person = chance.choice(people)
        amount = f"{chance.randrange(100, 50_000) / 100:.2f}"
        day = dt.date(2026, 1, 1) + dt.timedelta(days=chance.randrange(300))
        orders.append(_row(id, amount, person["region"], person=person["id"], ordered=day))
        card = f"{chance.randrange(4 * 10**15, 5 * 10**15)}"
        payments.append(_row(id, amount, person["region"], order=id, card=card))
    return {
        "people": pa.Table.from_pylist(people),
        "orders": pa.Table.from_pylist(orders),
        "payments": pa.Table.from_pylist(payments),
    }


def _row(id: int, amount: str, region: Any, **more: Any) -> dict[str, Any]:
    from decimal import Decimal

    return {"id": id, **more, "amount": Decimal(amount), "region": region}
