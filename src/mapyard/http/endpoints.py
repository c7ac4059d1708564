"""How an endpoint is declared.

See docs/develop/endpoints.md for one whole example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple

import msgspec

from mapyard.errors import MapyardError
from mapyard.http.answer import GEOJSON, Answer
from mapyard.params.parser import parser_of

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


#: Gets the context of a request and its parameters: `(ctx: Context, params) -> Answer`.
Handler = Callable[[Any, Any], Answer]
#: Gets the parameters of a request.
PremiumCounter = Callable[[Any], int]
#: Gets the services, the account that asks and the values in the path; returns the most bytes that
#: it may upload, and the folder that takes them.
UploadBounds = Callable[[Any, int, Mapping[str, str]], tuple[int, Path]]
MapUse = Literal["", "begin", "open", "tile"]


class Asked(NamedTuple):
    """What is known of a request that went wrong."""

    query: bytes
    #: Names in lower case.
    headers: Mapping[str, str]


ErrorWriter = Callable[[MapyardError, Asked], Answer]


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
        self.parser = parser_of(params)
        self.path: str = options["path"]
        self.aliases: tuple[str, ...] = tuple(options["aliases"])
        self.methods: tuple[Method, ...] = tuple(options["methods"])
        self.summary: str = options["summary"]
        self.description: str = options["description"]
        self.tag: str = options["tag"]
        self.inline: bool = options["inline"]
        self.heavy: bool = options["heavy"]
        self.apart: bool = options["apart"]
        self.premium: bool = options["premium"]
        self.count_premium: PremiumCounter | None = options["count_premium"]
        self.public: bool = options["public"]
        self.upload: UploadBounds | None = options["upload"]
        self.map_session: MapUse = options["map_session"]
        self.needs_dataset: bool = options["needs_dataset"]
        self.texts: Mapping[str, str] = options["texts"]
        self.strict: bool = options["strict"]
        self.refused: Mapping[str, str] = options["refused"]
        self.media_types: tuple[str, ...] = tuple(options["media_types"])
        self.schema: Any = options["schema"]
        self.languages: bool = options["languages"]
        self.headers: Mapping[str, str] = {
            **options["headers"],
            **({"Vary": "Accept-Language: its languages count where lang is not given"}
               if self.languages else {}),
        }  # fmt: skip
        self.errors: tuple[str, ...] = tuple(options["errors"])
        self.examples: tuple[Example, ...] = tuple(options["examples"])
        self.statuses: Mapping[str, int] = options["statuses"]
        self.write_error: ErrorWriter | None = options["write_error"]

    @property
    def forms(self) -> tuple[str, ...]:
        """Return the values of its parameter `format`."""
        types = [field.type for field in self.parser.fields if field.name == "format"]
        return tuple(map(str, getattr(types[0], "values", ()))) if types else ()

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
    apart: bool = False,
    premium: bool = False,
    count_premium: PremiumCounter | None = None,
    public: bool = False,
    upload: UploadBounds | None = None,
    map_session: MapUse = "",
    needs_dataset: bool = True,
    languages: bool = False,
    texts: Mapping[str, str] | None = None,
    strict: bool = False,
    refused: Mapping[str, str] | None = None,
    media_types: Iterable[str] = (GEOJSON,),
    schema: Any = None,
    headers: Mapping[str, str] | None = None,
    errors: Iterable[str] = (),
    examples: Iterable[Example] = (),
    statuses: Mapping[str, int] | None = None,
    write_error: ErrorWriter | None = None,
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
        apart: runs in a process of its own where there are such, and is killed with it when it
            takes too long or too much; uses nothing of `ctx.services` but settings and resources.
        premium: counts four units.
        count_premium: gives the number of premium requests that the parameters come to, where
            that is known only then; 0 leaves it a standard request.
        public: needs no key and counts nothing.
        upload: the body is a file, which `ctx.upload` names; it is deleted at the end unless the
            handler calls `ctx.keep_upload()`. Gives bounds and folder.
        map_session: "open" where the token of a map session serves as a key, "tile" where it counts
            one of the session's tiles; "begin" where one begins, which keys that only read may do.
        needs_dataset: False where an answer needs none: it works before the first build.
        languages: the header Accept-Language stands in for a parameter `lang` that is not given;
            answers say `Vary: Accept-Language`.
        texts: media type → parameter for bodies that are one text, "*" for any other type:
            `{"application/sparql-query": "query"}`.
        strict: the body describes a problem: members that mean nothing here are refused (422);
            elsewhere they are named in X-Ignored-Parameters.
        refused: parameters that clients know and this endpoint does not serve → what to do (422).
        media_types: of the answer, for the reference.
        schema: of the answer: a JSON schema, a msgspec struct, or a name in reference/schemas.py.
        headers: further answer headers for the reference, name → meaning.
        errors: codes beyond the common ones, for the reference (`no_route_found`, …).
        examples: the reference shows them; tests run them.
        statuses: code of an error → the status that this path answers instead of the common one,
            where the clients it is for know no other.
        write_error: makes the answer of an error, of it and of what was asked, where clients
            expect another form than ours.
    """
    options = {
        "path": path, "methods": tuple(methods), "summary": summary, "tag": tag,
        "aliases": tuple(aliases), "inline": inline, "heavy": heavy, "apart": apart,
        "premium": premium, "count_premium": count_premium,
        "public": public, "upload": upload, "map_session": map_session,
        "needs_dataset": needs_dataset, "languages": languages, "texts": texts or {},
        "refused": refused or {}, "strict": strict,
        "media_types": tuple(media_types), "schema": schema, "headers": headers or {},
        "errors": tuple(errors), "examples": tuple(examples),
        "statuses": statuses or {}, "write_error": write_error,
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
