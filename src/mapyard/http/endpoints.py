"""How an endpoint is declared, what a handler gets and what it returns.

See docs/develop/endpoints.md for one whole example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec
import orjson

from mapyard.deadline import Deadline
from mapyard.http.body import Raw
from mapyard.http.params import Params, Parser
from mapyard.http.snapshot import NoDataset, Snapshot
from mapyard.settings import Settings

if TYPE_CHECKING:
    from mapyard.http.request import Request
    from mapyard.http.services import Services

__all__ = ["GEOJSON", "JSON", "Answer", "Context", "Endpoint", "Params", "collect", "endpoint"]

JSON: Final = "application/json"
GEOJSON: Final = "application/geo+json"
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

_JSON_OPTIONS: Final = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class Answer:
    """What a handler returns.

    `body` is bytes, or an iterator of bytes: then it is streamed, each step runs in the pool, and
    an exception midway breaks the connection off.
    """

    __slots__ = ("body", "encoded", "headers", "media_type", "status")

    def __init__(
        self,
        body: bytes | Iterator[bytes],
        media_type: str = JSON,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.body = body
        self.media_type = media_type
        self.status = status
        self.headers = headers
        #: The reply, once made, where it is the same for all who ask: for handlers that return
        #: one Answer many times.
        self.encoded: Any = None

    @classmethod
    def json(
        cls,
        value: Any,
        media_type: str = JSON,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Return the answer of a JSON value; numpy arrays are fine."""
        return cls(orjson.dumps(value, option=_JSON_OPTIONS), media_type, status, headers)

    @classmethod
    def geojson(
        cls, value: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the answer of a GeoJSON value."""
        return cls.json(value, GEOJSON, status, headers)


class Context:
    """One request, as a handler sees it."""

    __slots__ = ("_request", "_snapshot", "deadline", "raw", "services")

    def __init__(
        self,
        services: Services,
        snapshot: Snapshot | None,
        deadline: Deadline,
        request: Request,
        raw: Raw,
    ) -> None:
        #: What lives as long as the worker.
        self.services = services
        self._snapshot = snapshot
        self.deadline = deadline
        self._request = request
        #: All parameters as they came: to tell a JSON list from one value.
        self.raw = raw

    @property
    def snapshot(self) -> Snapshot:
        """Return the dataset that this request is answered from."""
        if self._snapshot is None:
            raise NoDataset("this endpoint was declared without needs_dataset")
        return self._snapshot

    @property
    def settings(self) -> Settings:
        """Return the settings."""
        return self.services.settings

    @property
    def method(self) -> str:
        """Return GET, HEAD, POST, …"""
        return self._request.method

    @property
    def path(self) -> str:
        """Return the path asked for, an alias as it was spelled."""
        path: str = self._request.scope["path"]
        return path

    @property
    def query_string(self) -> bytes:
        """Return the raw query string."""
        query_string: bytes = self._request.scope["query_string"]
        return query_string

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the request's headers, names in lower case."""
        return self._request.headers

    @property
    def request_id(self) -> str:
        """Return the id under which the log has this request."""
        return self._request.id

    @property
    def client(self) -> str:
        """Return the client's address."""
        return self._request.client

    @property
    def account_id(self) -> int:
        """Return the account that asks, 0 where no keys are asked for."""
        return self._request.admission.account_id

    @property
    def key_id(self) -> int:
        """Return the key that was used, 0 as above."""
        return self._request.admission.key_id

    @property
    def base_url(self) -> str:
        """Return the address that clients use for this server, without a slash at the end."""
        return self.settings.public_url.rstrip("/") or self._request.base_url

    @property
    def is_client_library(self) -> bool:
        """Return whether one of the published client libraries asks."""
        return "x-stainless-lang" in self._request.headers

    @property
    def accept(self) -> str:
        """Return the Accept header, "" when absent."""
        return self.headers.get("accept", "")


Handler = Callable[[Context, Any], Answer]


class Example(NamedTuple):
    """One request that the reference shows; `answer` is a shortened body."""

    params: Mapping[str, Any]
    answer: Any = None


class Endpoint:
    """One declared endpoint; several paths and methods may lead to it."""

    def __init__(self, handler: Handler, params: type[msgspec.Struct], **options: Any) -> None:
        self.handler = handler
        self.params = params
        #: Compiled at once, so that a mistake shows when the module is imported.
        self.parser = Parser(params)
        self.path: str = options["path"]
        self.aliases: tuple[str, ...] = tuple(options["aliases"])
        self.methods: tuple[Method, ...] = tuple(options["methods"])
        self.summary: str = options["summary"]
        self.description: str = options["description"]
        self.tag: str = options["tag"]
        self.inline: bool = options["inline"]
        self.heavy: bool = options["heavy"]
        self.premium: bool = options["premium"]
        self.public: bool = options["public"]
        self.needs_dataset: bool = options["needs_dataset"]
        self.texts: Mapping[str, str] = options["texts"]
        self.refused: Mapping[str, str] = options["refused"]
        self.media_types: tuple[str, ...] = tuple(options["media_types"])
        self.schema: Any = options["schema"]
        self.headers: Mapping[str, str] = options["headers"]
        self.errors: tuple[str, ...] = tuple(options["errors"])
        self.examples: tuple[Example, ...] = tuple(options["examples"])

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the path and its aliases."""
        return (self.path, *self.aliases)


def endpoint(
    path: str,
    *,
    methods: Iterable[Method] = ("GET",),
    summary: str,
    tag: str,
    description: str = "",
    aliases: Iterable[str] = (),
    inline: bool = False,
    heavy: bool = False,
    premium: bool = False,
    public: bool = False,
    needs_dataset: bool = True,
    texts: Mapping[str, str] | None = None,
    refused: Mapping[str, str] | None = None,
    media_types: Iterable[str] = (GEOJSON,),
    schema: Any = None,
    headers: Mapping[str, str] | None = None,
    errors: Iterable[str] = (),
    examples: Iterable[Example] = (),
) -> Callable[[Handler], Handler]:
    """Declare a handler `(ctx, params) -> Answer` as an endpoint; may be stacked.

    Args:
        path: `/api/v1/…`, with `{name}` for path parameters (a field of the params struct).
        methods: GET brings HEAD along.
        summary: one line for the reference.
        tag: group in the reference; "" keeps files of pages out of it.
        description: Markdown for the reference; the handler's docstring when empty.
        aliases: further paths, same answer (`ctx.path` tells which).
        inline: runs on the event loop: only for work well under a millisecond.
        heavy: runs in the smaller pool for long work, so that it cannot hold up light work.
        premium: counts four units.
        public: needs no key and counts nothing.
        needs_dataset: False where an answer needs none: it works before the first build.
        texts: media type → parameter for bodies that are one text, "*" for any other type:
            `{"application/sparql-query": "query"}`.
        refused: parameters that clients know and this endpoint does not serve → what to do (422).
        media_types: of the answer, for the reference.
        schema: JSON schema, or a msgspec struct, or a name in http/schemas.py, of the answer.
        headers: further answer headers for the reference, name → meaning.
        errors: codes beyond the common ones, for the reference (`no_route_found`, …).
        examples: the reference shows them; tests run them.
    """
    options = {
        "path": path, "methods": tuple(methods), "summary": summary, "tag": tag,
        "aliases": tuple(aliases), "inline": inline, "heavy": heavy, "premium": premium,
        "public": public, "needs_dataset": needs_dataset, "texts": texts or {},
        "refused": refused or {},
        "media_types": tuple(media_types), "schema": schema, "headers": headers or {},
        "errors": tuple(errors), "examples": tuple(examples),
    }  # fmt: skip

    def declare(handler: Handler) -> Handler:
        text = description or (handler.__doc__ or "").strip()
        declared = Endpoint(handler, _params_of(handler), description=text, **options)
        held: list[Endpoint] = getattr(handler, "__endpoints__", [])
        handler.__endpoints__ = [*held, declared]  # type: ignore[attr-defined] # found by collect
        return handler

    return declare


def _params_of(handler: Handler) -> type[msgspec.Struct]:
    """Return the class annotated for the second argument."""
    code = handler.__code__
    name = code.co_varnames[1]
    annotation = handler.__annotations__.get(name)
    if isinstance(annotation, str):
        annotation = eval(annotation, handler.__globals__)  # noqa: S307 - our own source text
    if not (isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)):
        raise TypeError(f"{handler.__qualname__}: annotate '{name}' with its Params struct")
    return annotation


def collect(modules: Iterable[ModuleType]) -> list[Endpoint]:
    """Return the endpoints declared in these modules; two on one path and method are refused."""
    found: list[Endpoint] = []
    taken: dict[tuple[str, str], str] = {}
    for module in modules:
        for value in vars(module).values():
            if getattr(value, "__module__", None) != module.__name__:
                continue
            for declared in getattr(value, "__endpoints__", ()):
                for path in declared.paths:
                    for method in declared.methods:
                        if (path, method) in taken:
                            other = taken[path, method]
                            raise ValueError(f"{method} {path}: in {other} and {module.__name__}")
                        taken[path, method] = module.__name__
                found.append(declared)
    return found
