"""The folders that native catalogs keep their governed copies in, for stores whose catalogs never claimed them.

A catalog without a warehouse of its own is left out: it keeps them in the server's, where nobody places anything.
"""

from typing import Any, Final

import msgspec
import sqlalchemy as sa

from headgate.model.errors import IllegalArgument
from headgate.model.objects import ObjectType
from headgate.model.places import overlap
from headgate.store.metadata.places import CONTESTED, LIVE, canonical

_GOVERNED: Final = "_headgate"


def fill(connection: sa.Connection) -> None:
    """Claim the folders. What lies around one is refused from now on, whichever was first: it reaches the copies."""
    tables = sa.MetaData()
    tables.reflect(connection, only=["objects", "places"])
    objects, places = tables.tables["objects"], tables.tables["places"]
    catalogs = connection.execute(sa.select(objects).where(objects.c.type == ObjectType.CATALOG.value)).all()
    governed = {row.id: (place, row.created_at) for row in catalogs if (place := _governed(row)) is not None}
    for row in connection.execute(sa.select(places).where(places.c.state == LIVE)).all():
        if any(overlap(row.place, place) for place, _ in governed.values()):
            connection.execute(sa.update(places).where(places.c.id == row.id).values(state=CONTESTED))
    rows = [
        {
            "place": place,
            "object": id,
            "catalog": id,
            "state": LIVE,
            "uuid": None,
            "source": "",
            "holder": "",
            "since": since,
        }
        for id, (place, since) in governed.items()
    ]
    if rows:
        connection.execute(sa.insert(places), rows)


def _governed(catalog: Any) -> str | None:
    """Where a native catalog with a warehouse of its own keeps governed copies."""
    body, properties = msgspec.json.decode(catalog.body), msgspec.json.decode(catalog.properties)
    native = properties.get("catalog-backend", "").lower() in ("", "native")
    if body.get("provider") != "lakehouse-iceberg" or not native or not properties.get("warehouse"):
        return None
    try:
        return canonical(f"{properties['warehouse'].rstrip('/')}/{_GOVERNED}/{body['folder']}")
    except IllegalArgument:
        return None
