"""A small lake for the tests of the doors: users, roles and a tree, put straight into the store."""

from collections.abc import Iterable

from headgate.model.objects import ObjectType
from headgate.model.principals import PrincipalKind
from headgate.model.privileges import Masks, Privilege
from headgate.store import Store, access, objects

LAKE = "/api/metalakes/lake"


class Lake:
    """Metalake `lake`, owned by admin. Everything is reached by the path of its name."""

    def __init__(self, store: Store) -> None:
        self.store = store
        with store.write("admin", "test") as tx:
            self.id = objects.create(tx, 0, 0, ObjectType.METALAKE, "lake")
            owner = access.add_principal(tx, self.id, PrincipalKind.USER, "admin")
            access.set_owner(tx, self.id, owner)
        self.ids: dict[str, int] = {"": self.id}

    def user(self, name: str) -> int:
        with self.store.write("admin", "test") as tx:
            found = access.find_principal(tx, self.id, PrincipalKind.USER, name)
            return found.id if found else access.add_principal(tx, self.id, PrincipalKind.USER, name)

    def put(self, path: str, type: ObjectType, **body: object) -> int:
        """An object under its dotted name, without asking anyone."""
        parent, _, name = path.rpartition(".")
        with self.store.write("admin", "test") as tx:
            self.ids[path] = objects.create(tx, self.ids[parent], self.id, type, name, body=body)
        return self.ids[path]

    def object(self, path: str, type: ObjectType) -> int:
        """The id of an object that was made through a door."""
        at = self.id
        steps = path.split(".") if path else []
        kinds = [type] if len(steps) == 1 else [ObjectType.CATALOG, ObjectType.SCHEMA, type][: len(steps)]
        with self.store.read() as read:
            for kind, name in zip(kinds, steps, strict=True):
                found = objects.find(read, at, kind, name)
                assert found is not None, path
                at = found.id
        return at

    def grant(self, user: str, on: int, *privileges: Privilege, deny: Iterable[Privilege] = ()) -> None:
        """Let a user do something, through a role of their own for that object."""
        principal = self.user(user)
        allow = sum(privilege.bit for privilege in privileges)
        denied = sum(privilege.bit for privilege in deny)
        with self.store.write("admin", "test") as tx:
            name = f"{user}-{on}"
            role = objects.find(tx, self.id, ObjectType.ROLE, name)
            id = role.id if role else objects.create(tx, self.id, self.id, ObjectType.ROLE, name)
            access.hold_role(tx, id, principal, True)
            access.set_grants(tx, id, on, Masks(allow, denied))

    def disable(self, id: int) -> None:
        with self.store.write("admin", "test") as tx:
            objects.alter(tx, objects.present(tx, id), in_use=False)
