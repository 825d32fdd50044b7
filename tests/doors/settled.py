"""A metalake for the tests of access control: admin owns it, the others are plain users."""

from typing import Any

from tests.conftest import Api

LAKE = "/api/metalakes/lake"

BAD_NAMES = ("", "..", "a..b", "*", "a%2Fb", "a\x00b", "a\nb", "a'b", " a", "x" * 1_000_000)


def settle(api: Api, *users: str) -> None:
    """The metalake `lake` with a catalog `cat`, a schema `cat.s`, and these users."""
    done(api("admin", "POST", "/api/metalakes", {"name": "lake"}))
    for user in users:
        done(api("admin", "POST", f"{LAKE}/users", {"name": user}))
    catalog = {"name": "cat", "type": "relational", "provider": "lakehouse-iceberg"}
    done(api("admin", "POST", f"{LAKE}/catalogs", catalog))
    done(api("admin", "POST", f"{LAKE}/catalogs/cat/schemas", {"name": "s"}))


def done(answer: Any) -> Any:
    """The body of an answer that must be a success."""
    assert answer.status_code == 200, answer.text
    assert answer.json()["code"] == 0
    return answer.json()


def refused(answer: Any) -> bool:
    """Whether an answer is Gravitino's 403."""
    assert answer.status_code == 403, answer.text
    body = answer.json()
    return (body["code"], body["type"]) == (1008, "ForbiddenException") and bool(body["message"])


def failed(answer: Any) -> tuple[int, str]:
    """Status and exception name of an error."""
    assert len(answer.text) < 2000, "an error does not send back what was sent"
    return answer.status_code, answer.json()["type"]


def securable(type: str, name: str, *privileges: str) -> dict[str, Any]:
    """`securable("catalog", "cat", "use_catalog", "!create_schema")`: a bang denies."""
    return {
        "fullName": name,
        "type": type,
        "privileges": [
            {"name": privilege.lstrip("!"), "condition": "deny" if privilege[0] == "!" else "allow"}
            for privilege in privileges
        ],
    }


def give(api: Api, user: str, role: str, *securables: dict[str, Any]) -> None:
    """Make a role that says this and grant it to a user."""
    done(api("admin", "POST", f"{LAKE}/roles", {"name": role, "securableObjects": list(securables)}))
    done(api("admin", "PUT", f"{LAKE}/permissions/users/{user}/grant", {"roleNames": [role]}))
