"""Fetch an extract from a URL: with progress, resumed where it broke off, md5 checked."""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urlsplit

import httpx

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
    stopped. Where the server publishes URL.md5, the sum is checked.
    """
    name = Path(urlsplit(url).path).name or "extract.osm.pbf"
    folder.mkdir(parents=True, exist_ok=True)
    target, partial, tag_file = folder / name, folder / f"{name}.partial", folder / f"{name}.etag"
    progress.stage(f"download: {name}", unit="bytes")
    with httpx.Client(follow_redirects=True, timeout=60.0) as client:
        for attempt in range(1, _TRIES + 1):
            try:
                _fetch(client, url, partial, tag_file, progress)
                break
            except httpx.TransportError as error:
                if attempt == _TRIES:
                    have = partial.stat().st_size if partial.exists() else 0
                    raise DownloadFailed(
                        f"{url} broke off {_TRIES} times, last: {error or type(error).__name__}; "
                        f"{have:,} bytes are kept, run the command again to go on"
                    ) from None
        _check_md5(client, url, partial)
    partial.replace(target)
    tag_file.unlink(missing_ok=True)
    return target


def _fetch(
    client: httpx.Client, url: str, partial: Path, tag_file: Path, progress: Reporter
) -> None:
    have = partial.stat().st_size if partial.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if have and tag_file.exists():
        headers |= {"Range": f"bytes={have}-", "If-Range": tag_file.read_text()}
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code == 416:
            partial.unlink()
            raise httpx.TransportError("the file on the server changed")
        if response.status_code not in (200, 206):
            raise DownloadFailed(f"{url} answered {response.status_code}")
        if response.status_code == 200:
            have = 0
            tag = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
            if tag and not tag.startswith("W/"):
                tag_file.write_text(tag)
        length = response.headers.get("Content-Length")
        expected = have + int(length) if length else None
        with partial.open("ab" if have else "wb") as file:
            for chunk in response.iter_raw():
                file.write(chunk)
                have += len(chunk)
                progress.advance(have)
    if expected is not None and have != expected:
        raise httpx.TransportError(f"{have} of {expected} bytes arrived")


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
        raise DownloadFailed(f"{url} does not have the md5 sum published beside it; try again")
