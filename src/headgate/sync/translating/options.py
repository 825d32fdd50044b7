"""What a push carries over only when somebody asks for it."""

import msgspec


class Options(msgspec.Struct, frozen=True):
    """What a push carries over only when asked to, because it is hard to take back."""

    owners: bool = False
    grant_option: bool = False
    create_principals: bool = False
    tags: bool = False
