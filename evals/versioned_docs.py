"""Real documentation with front matter, in several versions: records tagged by where files lie.

The documentation of fastmcp (Apache-2.0) as its source release ships it: most pages stand there
once for each major version, so that the same words are right for three readers, differently.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import yaml

from plumbline.index.parsing.files import parse_file
from plumbline.index.records import build_documents

PACKAGE, VERSION = "fastmcp", "4.2.3"
FOLDER = Path("build", "eval_docs")
OLDER = ("v2", "v3")
NEWEST = "v4"
# Not pages of their own, or generated from code.
_LEFT_OUT = ("snippets", "python-sdk", ".mintlify")
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.S)
_HEADING = re.compile(r"^## +(.+?) *#*$", re.M)


@dataclass(frozen=True)
class Page:
    """One page: its version and area by its place, its words by its front matter."""

    path: str
    version: str
    place: str
    area: str
    title: str
    description: str
    headings: tuple[str, ...]
    records: tuple[Mapping[str, object], ...] = field(repr=False)


def documentation() -> Path:
    """The folder that ``PLUMBLINE_EVAL_DOCS`` names, else the release's, fetched once.

    Raises ``SystemExit`` with what to do when neither is to be had.
    """
    named = os.environ.get("PLUMBLINE_EVAL_DOCS")
    if named:
        return Path(named)
    folder = FOLDER / f"{PACKAGE}-{VERSION}" / "docs"
    if not folder.is_dir():
        archive = FOLDER / f"{PACKAGE}-{VERSION}.tar.gz"
        if not archive.is_file():
            _download()
        with tarfile.open(archive) as tar:
            wanted = [m for m in tar.getmembers() if PurePosixPath(m.name).parts[1:2] == ("docs",)]
            tar.extractall(FOLDER, members=wanted, filter="data")
    return folder


def load_pages(folder: Path) -> list[Page]:
    """Every page of the folder as the product's own records, with the tags of its place.

    ``product_tag`` is the version, ``feature_tag`` the area. No question is looked at here.
    """
    pages = []
    for file in sorted(folder.rglob("*.mdx")):
        relative = PurePosixPath(file.relative_to(folder).as_posix())
        version = relative.parts[0] if relative.parts[0] in OLDER else NEWEST
        place = PurePosixPath(*relative.parts[1:]) if version in OLDER else relative
        if place.parts[0] in _LEFT_OUT or len(place.parts) < 2:
            continue
        text = file.read_text(encoding="utf-8")
        front = _front_matter(text)
        if front.get("title"):
            pages.append(_page(relative, version, place, text, front))
    return pages


def by_place(pages: list[Page]) -> dict[str, list[Page]]:
    """The versions of each page, by its place within a version."""
    places: dict[str, list[Page]] = defaultdict(list)
    for page in pages:
        places[page.place].append(page)
    return dict(places)


def _page(
    relative: PurePosixPath,
    version: str,
    place: PurePosixPath,
    text: str,
    front: Mapping[str, object],
) -> Page:
    area = place.parts[0]
    records = build_documents(
        parse_file(str(relative), text.encode()),
        repository_id=1,
        repository="docs/fastmcp",
        repository_url="https://github.com/docs/fastmcp",
        commit_sha=None,
    )
    tags = {"product_tag": [version], "feature_tag": [area]}
    return Page(
        path=str(relative),
        version=version,
        place=str(place),
        area=area,
        title=str(front["title"]),
        description=str(front.get("description") or ""),
        headings=tuple(_HEADING.findall(re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))),
        records=tuple({**record, **tags} for record in records),
    )


def _front_matter(text: str) -> dict[str, object]:
    match = _FRONT_MATTER.match(text)
    try:
        value = yaml.safe_load(match.group(1)) if match else None
    except yaml.YAMLError:
        return {}
    return value if isinstance(value, dict) else {}


def _download() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--no-binary", ":all:", "--dest", str(FOLDER), f"{PACKAGE}=={VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"the source release {PACKAGE} {VERSION} is not to be had; "
            "set PLUMBLINE_EVAL_DOCS to a folder of its documentation"
        )


def all_records(pages: list[Page]) -> Iterator[Mapping[str, object]]:
    """The records of every page."""
    for page in pages:
        yield from page.records
