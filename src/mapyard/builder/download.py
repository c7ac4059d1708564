"""Fetch an extract from a URL: with progress, resumed where it broke off, md5 checked.

Large files come over several connections where the server gives pieces (pieces.py).
"""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from mapyard.addresses import show_address, split_login
from mapyard.builder.pieces import Changed, Pieces, allows_pieces, fetch_pieces, find_tag
from mapyard.builder.progress import Reporter
from mapyard.errors import MapyardError

_TRIES = 5


class DownloadFailed(MapyardError):  # noqa: N818
    """A URL that could not be fetched whole."""


def is_url(source: str) -> bool:
    """Return whether a source is a URL."""
    return source.startswith(("http://", "https://"))


def download(url: str, folder: Path, progress: Reporter) -> Path:
    """Fetch a URL into a folder and return the file; a whole earlier download is used again.

    The unfinished file keeps its name with `.partial`, so that a later run goes on where this one
    stopped. Where the server publishes URL.md5, the sum is checked. A user name and a password in
    the URL are for the server alone.
    """
    url, login = split_login(url)
    shown = show_address(url)
    name = Path(urlsplit(url).path).name or "extract.osm.pbf"
    folder.mkdir(parents=True, exist_ok=True)
    target, partial, tag_file = folder / name, folder / f"{name}.partial", folder / f"{name}.etag"
    piece_file = folder / f"{name}.pieces"
    takes_pieces = True
    progress.stage(f"download: {name}", unit="bytes")
    with httpx.Client(follow_redirects=True, timeout=60.0, auth=login) as client:
        for attempt in range(1, _TRIES + 1):
            try:
                pieces = Pieces.find(piece_file, partial)
                if pieces is None:
                    piece_file.unlink(missing_ok=True)
                    begun = piece_file if takes_pieces else None
                    pieces = _fetch(client, url, partial, tag_file, begun, progress)
                if pieces is not None:
                    fetch_pieces(client, url, partial, pieces, progress)
                break
            except Changed:
                takes_pieces = False
                piece_file.unlink(missing_ok=True)
                partial.unlink(missing_ok=True)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                raise DownloadFailed(
                    f"the disk of {folder} is full; what has arrived of {name} is kept there"
                ) from error
            except httpx.TransportError as error:
                if attempt == _TRIES:
                    found = Pieces.find(piece_file, partial)
                    have = partial.stat().st_size if partial.exists() else 0
                    have = found.bytes_done if found else have
                    raise DownloadFailed(
                        f"{shown} broke off {_TRIES} times, last: {error or type(error).__name__}; "
                        f"{have:,} bytes are kept, run the command again to go on"
                    ) from None
        else:
            raise DownloadFailed(f"{shown} changes while it is fetched; try again later")
        _check_md5(client, url, partial)
    partial.replace(target)
    tag_file.unlink(missing_ok=True)
    piece_file.unlink(missing_ok=True)
    return target


def _fetch(
    client: httpx.Client,
    url: str,
    partial: Path,
    tag_file: Path,
    piece_file: Path | None,
    progress: Reporter,
) -> Pieces | None:
    """Fetch a file over this connection, or return its pieces where it should come in these."""
    have = partial.stat().st_size if partial.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if have and tag_file.exists():
        headers |= {"Range": f"bytes={have}-", "If-Range": tag_file.read_text()}
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 416:
            partial.unlink()
            raise httpx.TransportError("the file on the server changed")
        if response.status_code not in (200, 206):
            raise DownloadFailed(f"{show_address(url)} answered {response.status_code}")
        if response.status_code == 200:
            have = 0
            tag = find_tag(response)
            if tag:
                tag_file.write_text(tag)
            if piece_file is not None and allows_pieces(response):
                partial.unlink(missing_ok=True)
                return Pieces.begin(piece_file, tag, int(response.headers["Content-Length"]))
        length = response.headers.get("Content-Length")
        expected = have + int(length) if length else None
        with partial.open("ab" if have else "wb") as file:
            for chunk in response.iter_raw():
                file.write(chunk)
                have += len(chunk)
                progress.advance(have)
    if expected is not None and have != expected:
        raise httpx.TransportError(f"{have} of {expected} bytes arrived")
    return None


def _check_md5(client: httpx.Client, url: str, file: Path) -> None:
    try:
        answer = client.get(f"{url}.md5")
    except httpx.TransportError:
        return
    words = answer.text.split() if answer.status_code == 200 else []
    if not words or len(words[0]) != 32:
        return  # none published
    with file.open("rb") as reading:
        digest = hashlib.file_digest(reading, lambda: hashlib.md5(usedforsecurity=False))
    if digest.hexdigest() != words[0].lower():
        file.unlink()
        file.with_suffix(".pieces").unlink(missing_ok=True)
        raise DownloadFailed(
            f"{show_address(url)} does not have the md5 sum published beside it; try again"
        )
