"""Who a requester of object storage is: the name of a role's session stands for a principal of Headgate."""

import hashlib
import re
from typing import Final

_UNSAFE: Final = re.compile(r"[^\w+=,.@-]", re.ASCII)


def session_name(user: str) -> str:
    """The name of the session that credentials for a user are of.

    CONTRACT: the same as what credentials are given out with. It cannot be turned back for every name, so readers are found
    by going through the users that are known.
    """
    plain = _UNSAFE.sub("-", user)
    if plain == user and 2 <= len(user) <= 64:
        return user
    return f"{plain[:50]}-{hashlib.sha256(user.encode()).hexdigest()[:12]}"
