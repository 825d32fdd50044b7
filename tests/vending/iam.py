"""A small reading of IAM policies, by regular expressions: what a session policy allows, as AWS describes it."""

import json
import re
from typing import Any


def _matches(pattern: str, text: str) -> bool:
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _several(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value


def allows(policy: str, action: str, resource: str, prefix: str | None = None) -> bool:
    """Whether the policy allows an action on an ARN; `prefix` is that of a list."""
    for statement in json.loads(policy)["Statement"]:
        assert statement["Effect"] == "Allow"
        wanted = statement.get("Condition", {}).get("StringLike", {}).get("s3:prefix")
        if (
            action in _several(statement["Action"])
            and any(_matches(pattern, resource) for pattern in _several(statement["Resource"]))
            and (wanted is None or (prefix is not None and any(_matches(p, prefix) for p in wanted)))
        ):
            return True
    return False
