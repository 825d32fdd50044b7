"""Routes, each registered with what it requires, and the one place where a request becomes a permit and a call.

Paths are matched on their raw, still encoded segments and each segment is decoded by itself, so ``%2F`` inside a name
can neither split a segment nor reach another route.
"""

import enum
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec

from headgate.decide import Op
from headgate.doors.arrival import number
from headgate.model.errors import IllegalArgument, NotFound
from headgate.model.objects import ObjectRef, ObjectType, clip
from headgate.model.principals import Identity, PrincipalRef
from headgate.steward import Permit, Steward

MAX_FIELDS: Final = 100
"""Fields of a query string that are read."""
_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_LONG: Final = re.compile(rb"[0-9]{19}")
_INTEGERS: Final = range(-(2**63), 2**63)


class Open(enum.Enum):
    """The requirement of the few routes that ask for no permit."""

    ANYONE = "anyone"
    """Answers without a caller: says nothing about data or people."""
    AUTHENTICATED = "authenticated"
    """Answers any caller who proved who they are; what it shows is decided inside, by permits of its own."""


class DoorCall:
    """One request, authenticated and permitted, as a handler sees it."""

    __slots__ = ("body", "headers", "identity", "params", "permit", "query", "raw", "steward")

    def __init__(
        self,
        steward: Steward,
        identity: Identity | None,
        params: dict[str, str],
        query: dict[str, str],
        headers: Mapping[str, str],
        raw: bytes,
    ) -> None:
        self.steward = steward
        self.identity = identity
        self.params = params
        self.query = query
        self.headers = headers
        self.raw = raw
        self.permit: Permit = None  # type: ignore[assignment]  # set before the handler runs, if the route asks for one
        self.body: Any = None

    @property
    def caller(self) -> Identity:
        assert self.identity is not None, "a route that is open to anyone has no caller"
        return self.identity

    def flag(self, name: str, default: bool = False) -> bool:
        """A yes-or-no of the query string, in any case."""
        text = self.query.get(name)
        if text is None or text == "":
            return default
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise IllegalArgument(f"'{name}' must be true or false")

    def ask(self, op: Op, ref: ObjectRef, *, about: PrincipalRef | None = None) -> Permit:
        """A further permit for the same caller."""
        return self.steward.kernel.permit(self.caller, op, ref, at_least=at_least(self.headers), about=about)


class Answer(msgspec.Struct, frozen=True):
    """What a handler answers when the usual JSON with status 200 is not enough."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = {}
    media: str = "application/json"


Requirement = Op | Open | dict[ObjectType, Op]
"""One operation, or for a route about objects of any type the operation of each type."""

Target = Callable[[DoorCall], ObjectRef]
About = Callable[[DoorCall], PrincipalRef]
Handler = Callable[[DoorCall], Any]


class Route(msgspec.Struct, frozen=True):
    """A method and path with the operation it requires and the object that is asked about."""

    method: str
    path: str
    requires: Requirement
    target: Target | None
    handler: Handler
    body: Any = None
    query: tuple[str, ...] = ()
    absent: Any = None
    """The answer when the object itself is not there, for operations that take that as done; or what finds one."""
    sound: Callable[[DoorCall], None] | None = None
    """Refuses a body that makes no sense for such an object, before the object is told to be missing."""
    about: About | None = None
    """The user or group that is asked about, so that people may ask about themselves."""
    missing: str | None = None
    """What is told to be missing when the object is, where that is not the object itself."""
    versions: tuple[int, ...] = (1,)
    """The versions of the door's media type that are spoken here."""
    raw: Mapping[str, Any] = {}
    """For a handler that reads the body itself: the schema of the body by media type, for the OpenAPI document."""

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(segment for segment in self.path.split("/") if segment)

    @property
    def summary(self) -> str:
        return (self.handler.__doc__ or self.handler.__name__.replace("_", " ")).strip().splitlines()[0]


class Routes:
    """A list of routes under a prefix. A route without a requirement cannot be written down."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.routes: list[Route] = []

    def on(
        self,
        method: str,
        path: str,
        requires: Requirement,
        target: Target | None = None,
        *,
        body: Any = None,
        query: Iterable[str] = (),
        absent: Any = None,
        sound: Callable[[DoorCall], None] | None = None,
        about: About | None = None,
        missing: str | None = None,
        versions: tuple[int, ...] = (1,),
        raw: Mapping[str, Any] | None = None,
    ) -> Callable[[Handler], Handler]:
        """Register a handler. `target` names the object from the call; `body` is the type its JSON must have."""
        if not isinstance(requires, Open) and target is None:
            raise TypeError(f"{method} {path} requires {requires} but does not say of which object")

        def register(handler: Handler) -> Handler:
            self.routes.append(
                Route(
                    method,
                    self.prefix + path,
                    requires,
                    target,
                    handler,
                    body,
                    tuple(query),
                    absent,
                    sound,
                    about,
                    "metadata-object" if isinstance(requires, dict) else missing,
                    versions,
                    raw or {},
                )
            )
            return handler

        return register


class _Branch:
    __slots__ = ("literal", "parameter", "routes")

    def __init__(self) -> None:
        self.literal: dict[str, _Branch] = {}
        self.parameter: _Branch | None = None
        self.routes: dict[str, Route] = {}


class Router:
    """Finds the route of a raw path. Literal segments win over parameters."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Branch()
        for route in routes:
            # INVARIANT: whatever a route answers was required of the caller; one that requires nothing says so by name.
            if not isinstance(route.requires, Op | Open | dict) or route.requires == {}:
                raise TypeError(f"{route.method} {route.path} has no requirement: refusing to start")
            branch = self._root
            for segment in route.segments:
                if segment.startswith("{"):
                    branch.parameter = branch.parameter or _Branch()
                    branch = branch.parameter
                else:
                    branch = branch.literal.setdefault(segment, _Branch())
            if route.method in branch.routes:
                raise TypeError(f"{route.method} {route.path} is registered twice")
            branch.routes[route.method] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route | None, dict[str, str], list[str]]:
        """The route and its decoded parameters; without a route, the methods that the path does have."""
        inner = raw_path.decode("latin-1").strip("/")
        segments = inner.split("/") if inner else []
        branch = self._find(self._root, segments)
        if branch is None:
            return None, {}, []
        route = branch.routes.get(method)
        if route is None:
            return None, {}, sorted(branch.routes)
        values = (
            decoded(s) for s, name in zip(segments, route.segments, strict=True) if name.startswith("{")
        )
        names = (name[1:-1] for name in route.segments if name.startswith("{"))
        return route, dict(zip(names, values, strict=True)), []

    def _find(self, branch: _Branch, segments: list[str]) -> _Branch | None:
        if not segments:
            return branch if branch.routes else None
        first, rest = segments[0], segments[1:]
        literal = branch.literal.get(first)
        if literal is not None and (found := self._find(literal, rest)) is not None:
            return found
        return self._find(branch.parameter, rest) if branch.parameter is not None and first else None


def decoded(segment: str) -> str:
    """A path segment as the client meant it."""
    try:
        return _clean(unquote(segment, errors="strict"))
    except UnicodeDecodeError:
        raise IllegalArgument("the path is not UTF-8") from None


def at_least(headers: Mapping[str, str]) -> int:
    """The revision that the answer may not be older than."""
    text = headers.get("headgate-at-least")
    return 0 if text is None else number(text, "header Headgate-At-Least")


def query_of(raw: bytes) -> dict[str, str]:
    """The fields of a query string; each means one thing."""
    if not raw:
        return {}
    if raw.count(b"&") >= MAX_FIELDS:
        raise IllegalArgument(f"the query has more than {MAX_FIELDS} fields", hint="send fewer")
    try:
        fields = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise IllegalArgument("the query is not UTF-8") from None
    found: dict[str, str] = {}
    for name, value in fields:
        if found.setdefault(_clean(name), _clean(value)) != value:
            raise IllegalArgument(f"the query has '{clip(name)}' with two values", hint="send one")
    return found


def _clean(text: str) -> str:
    # No name and no value of ours holds one, and a database may not be able to keep it.
    if "\0" in text:
        raise IllegalArgument("the request holds a NUL character", hint="leave it out")
    return text


def perform(route: Route, call: DoorCall) -> Any:
    """Ask for the permit, read the body, let the handler act. Runs in a worker thread."""
    if not isinstance(route.requires, Open):
        assert route.target is not None
        ref = route.target(call)
        about = None if route.about is None else route.about(call)
        try:
            call.permit = call.ask(_operation(route.requires, ref), ref, about=about)
        except NotFound as missing:
            if route.absent is not None and missing.about == ref.type:
                answer = route.absent(call) if callable(route.absent) else route.absent
                if answer is not None:
                    return answer
            if route.sound is not None:
                call.body = read_body(call.raw, route.body)
                route.sound(call)
            if route.missing is None:
                raise
            raise NotFound(missing.message, hint=missing.hint, about=route.missing) from None
    if route.body is not None:
        call.body = read_body(call.raw, route.body)
    return route.handler(call)


def _operation(requires: Op | dict[ObjectType, Op], ref: ObjectRef) -> Op:
    if isinstance(requires, Op):
        return requires
    op = requires.get(ref.type)
    if op is None:
        raise IllegalArgument(
            f"this cannot be asked of a {ref.type}", hint=f"it can of {', '.join(sorted(requires))}"
        )
    return op


def read_body(raw: bytes, type: Any) -> Any:
    """The JSON of a request as the value it must be."""
    if b"\\u0000" in raw and _NUL.search(raw):
        raise IllegalArgument("the request body holds a NUL character", hint="leave it out")
    try:
        if _LONG.search(raw):
            _check_integers(msgspec.json.decode(raw))
        return msgspec.json.decode(raw or b"{}", type=type)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise IllegalArgument(f"the request body cannot be read: {str(error)[:300]}") from None


def _check_integers(value: Any) -> None:
    """INVARIANT: no integer gets further than the door that no column and no store could hold."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as fields:
                waiting += fields.values()
            case list() as items:
                waiting += items
            case int() as found if found not in _INTEGERS:
                raise IllegalArgument("the request body holds an integer of more than 64 bits")
