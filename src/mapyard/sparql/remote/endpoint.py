"""One request to another SPARQL service, by the operator's list only.

The address is looked up once, checked, and that very address is connected to: a name that leads to
another place on the second look leads nowhere. Redirects are not followed and proxies not used.
Addresses of private networks are refused unless the list itself names one by its number.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Final
from urllib.parse import quote, urlsplit

import orjson

from mapyard.deadline import Deadline
from mapyard.errors import MapyardError, TooLarge
from mapyard.sparql.terms.terms import (
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
)

#: How long one request may take, seconds, and how large one answer may be.
REQUEST_S: Final = 20.0
ANSWER_BYTES: Final = 16 << 20
_PART_BYTES: Final = 65_536
_RESULTS: Final = "application/sparql-results+json"
#: Networks of IPv6 that hold an address of IPv4 in their last bits.
_EMBEDDING: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))

Binding = dict[str, Term]


class ServiceFailed(MapyardError):  # noqa: N818 - named for what happened, as in errors.py
    """Another service did not answer as one should; SILENT goes on without it."""

    status, code = 502, "service_failed"


def check_endpoint(address: str) -> None:
    """Raise ValueError for what cannot be the address of a service."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{address!r} is not an address such as https://query.example.org/sparql")
    if parts.username or parts.password or parts.fragment:
        raise ValueError(f"{address!r} must have neither a user name nor a fragment")
    _ = parts.port  # raises for what is none


def is_public(text: str) -> bool:
    """Return whether an address by number lies in no private, local or reserved network."""
    address = ip_address(text.partition("%")[0])
    inner: IPv4Address | None = None
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address.teredo is not None:
            inner = address.teredo[1]
        if any(address in network for network in _EMBEDDING):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is not None and not is_public(str(inner)):
        return False
    return address.is_global and not address.is_multicast


class Endpoint:
    """One service of the operator's list."""

    def __init__(self, address: str) -> None:
        check_endpoint(address)
        self.address = address
        parts = urlsplit(address)
        assert parts.hostname is not None
        self._host = parts.hostname
        self._is_tls = parts.scheme == "https"
        self._port = parts.port or (443 if self._is_tls else 80)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._is_named_by_number = _is_number(self._host) or self._host == "localhost"

    def ask(self, query: str, deadline: Deadline) -> list[Binding]:
        """Return the solutions of a query; raises ServiceFailed, TooLarge, or that time is up."""
        deadline.check()
        limit_s = max(0.001, min(REQUEST_S, deadline.remaining_s()))
        ends = Deadline(limit_s)
        sock = self._connect(limit_s)
        connection = http.client.HTTPConnection(self._host, self._port, timeout=limit_s)
        connection.sock = sock
        # A service that sends a byte now and then would stay within the time of every single read.
        watch = threading.Timer(limit_s, _hang_up, (sock,))
        watch.daemon = True
        watch.start()
        try:
            body = f"query={quote(query, safe='')}".encode()
            connection.request("POST", self._path, body, {
                "Content-Type": "application/x-www-form-urlencoded", "Accept": _RESULTS,
                "Accept-Encoding": "identity", "User-Agent": "mapyard", "Connection": "close",
            })  # fmt: skip
            with contextlib.closing(connection.getresponse()) as answer:
                return read_results(self._read(answer, deadline, ends))
        except (OSError, http.client.HTTPException) as error:
            deadline.check()
            if isinstance(error, TimeoutError) or ends.remaining_s() <= 0:
                raise self._fail(f"did not answer within {limit_s:.3g} s") from None
            raise self._fail(f"broke off: {type(error).__name__}") from None
        except ValueError as error:
            raise self._fail(f"answered with what is not a result: {error}") from None
        finally:
            watch.cancel()
            connection.close()
            sock.close()

    def _connect(self, limit_s: float) -> socket.socket:
        problem = ""
        for address in self._find_addresses():
            try:
                sock = socket.create_connection((address, self._port), limit_s)
                if self._is_tls:
                    context = ssl.create_default_context()
                    sock = context.wrap_socket(sock, server_hostname=self._host)
                return sock
            except OSError as error:
                problem = error.strerror or type(error).__name__
        raise self._fail(f"cannot be reached: {problem}")

    def _find_addresses(self) -> list[str]:
        try:
            found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except OSError:
            raise self._fail("cannot be found: its name leads nowhere") from None
        addresses = [str(one[4][0]) for one in found]
        if not self._is_named_by_number and not all(map(is_public, addresses)):
            raise self._fail("is not asked: its name leads into a private network")
        return list(dict.fromkeys(addresses))

    def _read(self, answer: http.client.HTTPResponse, deadline: Deadline, ends: Deadline) -> bytes:
        self._check_time(ends)  # what was hung up looks like an answer that ended
        kind = (answer.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        if 300 <= answer.status < 400:
            raise self._fail("answered with a redirect, which is not followed")
        if answer.status != 200:
            raise self._fail(f"answered {answer.status}")
        if kind not in (_RESULTS, "application/json"):
            raise self._fail(f"answered {kind or 'something without a type'}, not {_RESULTS}")
        parts: list[bytes] = []
        size = 0
        while part := answer.read1(_PART_BYTES):
            deadline.check()
            size += len(part)
            if size > ANSWER_BYTES:
                raise TooLarge(
                    f"the service {self.address} answered more than {ANSWER_BYTES:,} bytes; bind "
                    "more before the SERVICE, or narrow its pattern",
                    details={"limit": ANSWER_BYTES, "service": self.address},
                )
            parts.append(part)
        self._check_time(ends)
        return b"".join(parts)

    def _check_time(self, ends: Deadline) -> None:
        if ends.remaining_s() <= 0:
            raise self._fail(f"did not answer within {ends.limit_s:.3g} s")

    def _fail(self, why: str) -> ServiceFailed:
        return ServiceFailed(f"the service {self.address} {why}", details={"service": self.address})


def _hang_up(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def read_results(body: bytes) -> list[Binding]:
    """Return the solutions of SPARQL Results JSON; raises ValueError for what is none."""
    try:
        rows = orjson.loads(body)["results"]["bindings"]
        return [{str(name): _read_term(value) for name, value in row.items()} for row in rows]
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"no SPARQL results ({type(error).__name__})") from None


def _read_term(value: dict[str, Any]) -> Term:
    kind, content = value["type"], value["value"]
    if kind == "triple":
        parts = [_read_term(content[name]) for name in ("subject", "predicate", "object")]
        return TripleTerm(*parts)  # type: ignore[arg-type] # as the other service has them
    if not isinstance(content, str):
        raise ValueError("a value that is not text")
    if kind == "uri":
        return Iri(content)
    if kind == "bnode":
        return BlankNode(content)
    if kind not in ("literal", "typed-literal"):
        raise ValueError(f"a term of type {kind!r}")
    language = str(value.get("xml:lang", "")).lower()
    if language:
        direction = value.get("its:dir")
        if direction in ("ltr", "rtl"):
            return Literal(content, RDF_DIR_LANG_STRING, f"{language}--{direction}")
        return Literal(content, RDF_LANG_STRING, language)
    return Literal(content, str(value.get("datatype", XSD_STRING)))
