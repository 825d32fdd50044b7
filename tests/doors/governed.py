"""A lake with a table of customers, people of two regions, and tags; and policies sent as documents."""

from typing import Any

from tests.conftest import Api
from tests.doors.settled import LAKE, done, give, securable, settle

TABLES = f"{LAKE}/catalogs/cat/schemas/s/tables"
COLUMNS = [
    {"name": "id", "type": "long", "nullable": False},
    {"name": "region", "type": "string"},
    {"name": "email", "type": "string"},
    {"name": "ssn", "type": "string"},
    {
        "name": "home",
        "type": {
            "type": "struct",
            "fields": [{"name": "street", "type": "string"}, {"name": "zip", "type": "string"}],
        },
    },
]
READ = ("use_catalog", "use_schema", "select_table")

PARTITIONED = [
    {"strategy": "identity", "fieldName": ["region"]},
    {"strategy": "identity", "fieldName": ["ssn"]},
]


def govern(api: Api) -> None:
    """ann and bob may read everything, eve may write policies; email is tagged pii=email."""
    settle(api, "ann", "bob", "eve")
    table = {
        "name": "customers",
        "columns": COLUMNS,
        "partitioning": PARTITIONED,
        "properties": {"write.metadata.metrics.column.ssn": "none"},
    }
    done(api("admin", "POST", TABLES, table))
    for user, region in (("ann", "EU"), ("bob", "US")):
        give(api, user, f"reader-{user}", securable("catalog", "cat", *READ))
        done(api("admin", "PUT", f"{LAKE}/users/{user}/attributes", {"region": region}))
    done(api("admin", "POST", f"{LAKE}/groups", {"name": "privacy"}))
    done(api("admin", "POST", f"{LAKE}/tags", {"name": "pii"}))
    tagging = f"{LAKE}/objects/column/cat.s.customers.email/tags"
    done(api("admin", "POST", tagging, {"tagsToAdd": ["pii"]}))


def sent(*texts: str, whole: bool = True, **more: Any) -> dict[str, Any]:
    files = [{"file": f"{number}.yaml", "text": text} for number, text in enumerate(texts)]
    return {"files": files, "whole": whole, **more}


def applied(api: Api, *texts: str, user: str = "admin", whole: bool = True) -> Any:
    """The policies made those of the documents, by somebody who agrees to whatever that does."""
    return done(agreed(api, user, sent(*texts, whole=whole)))


def agreed(api: Api, user: str, body: dict[str, Any], **more: Any) -> Any:
    """The answer to documents whose changes were looked at and agreed to, or to looking at them."""
    path = "/api/headgate/policies/apply?metalake=lake"
    proposed = api(user, "POST", path, {**body, "dryRun": True}, **more)
    if proposed.status_code != 200:
        return proposed
    return api(user, "POST", path, {**body, "plan": proposed.json()["digest"], "allowEmpty": True}, **more)


def planned(api: Api, *texts: str, whole: bool = True) -> Any:
    return done(api("admin", "POST", "/api/headgate/policies/plan?metalake=lake", sent(*texts, whole=whole)))


def exported(api: Api) -> str:
    return str(done(api("admin", "GET", "/api/headgate/policies/export?metalake=lake"))["text"])


HIDE = """\
policy: hide-ssn
on: lake.cat.s
to: [everyone]
except: [group:privacy]
hide: [ssn, home.zip]
"""
ROWS = """\
policy: by-region
on: lake.cat
to: [user:ann, user:bob]
rows: region = principal.region
"""
MASK = """\
policy: mask-email
on: lake
to: [everyone]
columns:
  e: has_tag('pii')
mask:
  e: show_last_4(e)
"""
DENY = """\
policy: nobody
on: lake.cat.s.customers
to: [user:bob]
deny: true
"""
