"""Policies as JSON values: what a policy says besides its name, its object, whether it is enabled and its comment.

`read` takes what somebody sent, by the reader of documents; `trusted` takes what was read before and kept.
"""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

from headgate.language.errors import DocumentError
from headgate.language.policies.documents import FIELDS, load
from headgate.language.policies.policy import EFFECTS, Policy

Content = dict[str, Any]


def content_of(policy: Policy) -> Content:
    """The content of a policy, with the keys of a document and only those that say something."""
    out: Content = {"to": list(policy.to)}
    if policy.except_:
        out["except"] = list(policy.except_)
    if policy.when is not None:
        out["when"] = policy.when
    if policy.columns:
        out["columns"] = dict(policy.columns)
    if policy.rows is not None:
        out["rows"] = policy.rows
    if policy.mask:
        out["mask"] = dict(policy.mask)
    if policy.hide:
        out["hide"] = list(policy.hide)
    if policy.effect == "deny":
        out["deny"] = True
    if policy.priority:
        out["priority"] = policy.priority
    for key, moment in (("from", policy.from_), ("until", policy.until)):
        if moment is not None:
            out[key] = moment.isoformat()
    if policy.purpose:
        out["purpose"] = list(policy.purpose)
    if policy.accept:
        out["accept"] = dict(policy.accept)
    return out


def read(name: str, content: Mapping[str, Any], enabled: bool = True, comment: str | None = None) -> Policy:
    """The policy that somebody sent as JSON, its `on` included; refused like a document that says the same."""
    for key in content:
        if key not in FIELDS or key in ("policy", "enabled", "comment"):
            raise DocumentError(f"unknown field {key!r}", "fields are " + ", ".join(FIELDS[1:-2]))
    whole = {"policy": name, **{k: v for k, v in content.items() if v is not None}, "enabled": enabled}
    if comment:
        whole["comment"] = comment
    # JSON is YAML, so there is one reader and one set of rules.
    return load(json.dumps(whole, ensure_ascii=False))[0]


def trusted(content: Mapping[str, Any], name: str = "", on: tuple[str, ...] = ()) -> Policy:
    """The policy of a content that was read before."""
    return Policy(
        name=name,
        on=on,
        to=tuple(content["to"]),
        effect=next(effect for effect in EFFECTS if effect in content),
        except_=tuple(content.get("except", ())),
        when=content.get("when"),
        columns=tuple(content.get("columns", {}).items()),
        rows=content.get("rows"),
        mask=tuple(content.get("mask", {}).items()),
        hide=tuple(content.get("hide", ())),
        priority=content.get("priority", 0),
        from_=_moment(content.get("from")),
        until=_moment(content.get("until")),
        purpose=tuple(content.get("purpose", ())),
        accept=tuple(content.get("accept", {}).items()),
    )


def _moment(text: str | None) -> dt.datetime | None:
    return None if text is None else dt.datetime.fromisoformat(text)
