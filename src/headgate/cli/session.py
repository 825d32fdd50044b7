"""A session with a server: where it is, who one is, in which metalake, and how answers are shown."""

from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from headgate.cli import answers, output
from headgate.cli.failure import Denied, Failure, Usage

Path = tuple[str, ...]


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """Speaks to the server for one command."""

    url: str
    token: str | None
    login: str | None
    metalake: str | None
    profile: str | None = None
    format: output.Format

    def __repr__(self) -> str:
        return f"Session(url={self.url!r})"

    @property
    def address(self) -> str:
        """Where the server is. INVARIANT: nothing is guessed of it, least of all that it is asked without TLS."""
        try:
            parts = urlsplit(self.url)
            whole = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            whole = False
        if not whole:
            raise self._no_address()
        return self.url.rstrip("/")

    def _no_address(self) -> Usage:
        return Usage(
            f"'{self.url}' is not the address of a server",
            "write --url or HEADGATE_URL as http://host:8090 or https://host",
        )

    def in_metalake(self, *path: str) -> Path:
        """A path below the metalake of this session."""
        if not self.metalake:
            raise Usage("no metalake is named", "add --metalake NAME or set HEADGATE_METALAKE")
        return ("metalakes", self.metalake, *path)

    def get(self, path: Path, **query: Any) -> Any:
        return self.ask("GET", path, query=query)

    def post(self, path: Path, body: Any, **query: Any) -> Any:
        return self.ask("POST", path, body, query)

    def put(self, path: Path, body: Any) -> Any:
        return self.ask("PUT", path, body)

    def patch(self, path: Path, body: Any) -> Any:
        return self.ask("PATCH", path, body)

    def delete(self, path: Path, **query: Any) -> Any:
        return self.ask("DELETE", path, query=query)

    def ask(
        self,
        method: str,
        path: Path,
        body: Any = None,
        query: dict[str, Any] | None = None,
        patience: float | None = 60,
    ) -> Any:
        """Send a request and give back its JSON; a refusal becomes a failure. Without patience: wait for the end."""
        # Most of the time that a command takes to start would go into this, also where it only shows its help.
        import httpx

        # Each segment is encoded whole, so that a name with a slash stays one name.
        address = "/".join((self.address, "api", *(quote(segment, safe="") for segment in path)))
        headers = {"Accept": "application/vnd.gravitino.v1+json"}
        auth: httpx.BasicAuth | None = None
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        elif self.login:
            auth = httpx.BasicAuth(self.login, "")
        else:
            raise Denied(
                "nobody is signed in",
                "sign in by 'headgate login', set HEADGATE_TOKEN (see 'headgate token create'), "
                "or --login NAME for a --dev server",
            )
        asked = {
            key: str(value).lower() if isinstance(value, bool) else value
            for key, value in (query or {}).items()
            if value not in (None, False)
        }
        try:
            answer = httpx.request(
                method, address, json=body, params=asked, headers=headers, auth=auth, timeout=patience
            )
        except httpx.InvalidURL:
            raise self._no_address() from None
        except httpx.HTTPError as error:
            raise Failure(
                f"{self.url} does not answer ({type(error).__name__})",
                "start it with 'headgate serve', or correct --url",
            ) from None
        return answers.read(answer, signed_by_token=bool(self.token))

    def reachable(self) -> bool:
        """Whether a server listens there at all; it is told nothing, not even who asks."""
        import httpx

        try:
            httpx.request("GET", f"{self.address}/health/live", timeout=2)
        except httpx.HTTPError:
            return False
        return True

    def names(self, path: Path) -> list[dict[str, str]]:
        """The names in a list of identifiers."""
        return [{"name": found["name"]} for found in self.get(path)["identifiers"]]

    def dropped(self, what: str, answer: Any) -> None:
        """Say that it is gone; a thing that was not there is a failure, for the command did nothing."""
        if not any(answer.get(word) for word in ("dropped", "removed", "deleted")):
            raise Failure(f"{what} does not exist", answers.listing(what.partition(" ")[0]))
        self.done(f"{what} deleted")

    def show(self, value: Any, *columns: str) -> None:
        """Print an answer: the whole as JSON or YAML, the named columns as a table."""
        output.show(value, columns, self.format)

    def done(self, message: str, value: Any = None) -> None:
        """Print that it was done: a sentence, or the answer for machines."""
        output.done(message, value, self.format)
