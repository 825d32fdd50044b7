"""Profiles: servers and who one is there, in `~/.config/headgate/config.toml`. A flag wins over a variable, that over a profile.

INVARIANT: what a profile says goes to the server of that profile only. Where a flag or variable names another one, nothing
of the profile is used, its token least of all; and a file that others can read is not used at all.
"""

import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Set
from pathlib import Path
from typing import Any, Final

import msgspec

from headgate.cli import secret_values
from headgate.cli.failure import Failure, Usage

LOCAL: Final = "http://127.0.0.1:8090"
"""Where a server listens unless it is told otherwise."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A server, and who one is there."""

    url: str = LOCAL
    metalake: str | None = None
    token: str | None = None
    login: str | None = None

    def __repr__(self) -> str:
        return f"Profile(url={self.url!r})"


class Profiles(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The file: its profiles, and the one that counts where none is named."""

    profile: str | None = None
    profiles: dict[str, Profile] = {}


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """Which server is asked, as whom, in which metalake, and who said so."""

    url: str
    named: bool
    """Whether the server was named at all."""
    token: str | None
    login: str | None
    metalake: str | None
    profile: str | None
    """The profile that had a part in it."""

    def __repr__(self) -> str:
        return f"SignedIn(url={self.url!r})"


def path() -> Path:
    """Where the file lies."""
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(folder).expanduser() / "headgate" / "config.toml"


def read() -> Profiles:
    """The profiles that there are."""
    file = path()
    try:
        with file.open("rb") as stream:
            if stat.S_IMODE(os.fstat(stream.fileno()).st_mode) & 0o077:
                raise Failure(f"{file} can be read by others and holds secrets", f"run: chmod 600 {file}")
            return msgspec.convert(tomllib.load(stream), Profiles)
    except (FileNotFoundError, NotADirectoryError):
        return Profiles()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise Usage(
            f"{file} cannot be understood ({error})", "correct it, or remove it and sign in again"
        ) from None
    except OSError as error:
        raise Usage(f"{file} cannot be read ({error.strerror})", "see that you may read it") from None


def write(profiles: Profiles) -> None:
    """Keep the profiles, for nobody else's eyes at any moment."""
    file = path()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=file.parent, prefix=".config-")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(_toml(profiles))
        os.replace(beside, file)
    except OSError as error:
        raise Failure(
            f"{file} cannot be written ({error.strerror})", "see that you may write there"
        ) from None


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Usage(f"'{name}' is no name of a profile", "use letters, digits, '-' and '_'")
    return name


def sign_in(
    *,
    url: str | None,
    token: str | None,
    login: str | None,
    metalake: str | None,
    profile: str | None,
    flags: Set[str] = frozenset(),
) -> SignedIn:
    """Put together what flags and variables say, and of the profile what they leave open. `flags` are those that were flags."""
    if token and login and flags & {"token", "login"} == {"login"}:
        # A flag wins over a variable.
        token = None
    known = read()
    name = profile or known.profile
    if name is not None and name not in known.profiles:
        there = ", ".join(sorted(known.profiles)) or "none"
        raise Usage(
            f"there is no profile '{name}' in {path()}",
            f"'headgate login --profile {name}' makes it; there are: {there}",
        )
    kept = None if name is None else known.profiles[name]
    if kept is not None and url not in (None, kept.url):
        if profile is not None and "profile" in flags and "url" in flags:
            raise Usage(f"--url and profile '{name}' name different servers", "leave one of them out")
        kept = name = None
    if kept is not None:
        metalake = metalake or kept.metalake
        if not token and not login:
            token, login = kept.token, kept.login
    return SignedIn(
        url=url or (LOCAL if kept is None else kept.url),
        named=url is not None or kept is not None,
        token=None if not token else secret_values.reveal(token, "token"),
        login=login,
        metalake=metalake,
        profile=name,
    )


def _toml(profiles: Profiles) -> str:
    lines = [] if profiles.profile is None else [f"profile = {_text(profiles.profile)}"]
    for name, profile in profiles.profiles.items():
        lines += ["", f"[profiles.{name}]"]
        values: dict[str, Any] = {"url": profile.url, **msgspec.to_builtins(profile)}
        lines += [f"{key} = {_text(value)}" for key, value in values.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def _text(value: str) -> str:
    # JSON writes texts as TOML does, but for one sign.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
