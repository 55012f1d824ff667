"""Looking code up: CoSQA and SWE-QA, the embedded engine beside plain BM25 on the same records."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devstack.engine.embedded_text import embedded_text
from devstack.engine.embedder import DEFAULT, Embedder, available, open_embedder
from devstack.engine.engine import Engine
from devstack.engine.settings import Settings
from evals.bm25 import Bm25, record_text
from plumbline.index.index_settings import INDEX_SETTINGS
from plumbline.index.parsing.files import parse_file
from plumbline.index.records import build_documents
from plumbline.search.code_search import QUERY_PARAMETERS
from plumbline.search.query_building import BuiltQuery, build_query, build_typed_query

if TYPE_CHECKING:
    from evals.embedding_cache import CachedEmbedder

DEPTH = 100
BATCH = 1000
DATA = Path(os.environ.get("PLUMBLINE_DATA", Path(__file__).parents[2] / "shared" / "data"))
# The commits are those of the data's README; the releases are the nearest source packages.
REPOSITORIES = {
    "flask": ("85c5d93", "flask==3.1.2"),
    "requests": ("46e939b", "requests==2.32.5"),
}
_PATH = re.compile(r"[\w./-]+\.(?:py|md|rst|toml|txt|cfg|html)\b")
# A ranked list of gold labels (function ids, file paths) for a question.
Search = Callable[[str], list[str]]


@dataclass(frozen=True)
class Question:
    """A question and the labels that answer it; the best-ranked one counts."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True)
class Corpus:
    """Records with the label that each stands for."""

    name: str
    records: Sequence[Mapping[str, Any]]
    label: Callable[[Mapping[str, Any]], str]
    questions: Sequence[Question]


def run() -> list[dict[str, object]]:
    """Rows for each set: the engine in each mode, compared with BM25 in the same run."""
    rows: list[dict[str, object]] = []
    embedder = _embedder()
    with ExitStack() as closing:
        for corpus in (cosqa(), *(swe_qa(name, closing) for name in REPOSITORIES)):
            rows += _compare(corpus, embedder)
    if embedder is not None:
        print(
            f"{embedder.name}: {embedder.embedded} texts embedded in {embedder.seconds:.0f} s, "
            "the others were kept from before",
            file=sys.stderr,
        )
    return rows


def _embedder() -> CachedEmbedder | None:
    """The model that NEURAL_MODEL names; None, said once, where the extra is not installed."""
    name = os.environ.get("NEURAL_MODEL", DEFAULT)
    if not available(name):
        print(f"no neural mode: {name} is not installed (extra `neural`)", file=sys.stderr)
        return None
    # numpy comes with the model.
    from evals.embedding_cache import CachedEmbedder

    return CachedEmbedder(open_embedder(name))


def cosqa() -> Corpus:
    """6,267 functions, one file each; the label is the function's id."""
    records: list[Mapping[str, Any]] = []
    for line in (DATA / "cosqa" / "functions.jsonl").read_text(encoding="utf-8").splitlines():
        function = json.loads(line)
        records += _records(f"functions/{function['id']}.py", function["code"].encode())
    lines = (DATA / "cosqa" / "dev_queries.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [
        Question(item["query"], frozenset({str(item["gold"])})) for item in map(json.loads, lines)
    ]
    return Corpus("CoSQA dev", records, lambda one: Path(one["file_path"]).stem, questions)


def swe_qa(name: str, closing: ExitStack) -> Corpus:
    """The files of a repository; gold are those that the reference answer names."""
    folder, version = _repository(name, closing)
    records: list[Mapping[str, Any]] = []
    paths: list[str] = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder).as_posix()
        if path.is_file() and ".git/" not in f"{relative}/" and ".egg-info/" not in relative:
            found = _records(relative, path.read_bytes())
            records += found
            paths += [relative] if found else []
    questions = []
    lines = (DATA / "swe_qa" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    for item in map(json.loads, lines):
        gold = frozenset(_named_files(item["answer"], paths))
        if gold:
            questions.append(Question(item["question"], gold))
    label = f"SWE-QA {name} ({version}, {len(questions)} of {len(lines)} questions)"
    return Corpus(label, records, lambda one: str(one["file_path"]), questions)


def _records(path: str, data: bytes) -> list[Mapping[str, Any]]:
    documents = build_documents(
        parse_file(path, data),
        repository_id=1,
        repository="eval/sources",
        repository_url="https://github.com/eval/sources",
        commit_sha="0" * 40,
    )
    return [one for one in documents if one["entity_type"] != "import"]


def _named_files(answer: str, paths: Sequence[str]) -> Iterator[str]:
    for match in _PATH.finditer(answer):
        named = match.group().lstrip("./")
        for path in paths:
            if path == named or ("/" in named and path.endswith("/" + named)):
                yield path


def _repository(name: str, closing: ExitStack) -> tuple[Path, str]:
    """The sources: under REPOS, else the nearest release, downloaded."""
    commit, release = REPOSITORIES[name]
    if "REPOS" in os.environ:
        folder = Path(os.environ["REPOS"]) / name
        if folder.is_dir():
            return folder, f"REPOS, meant to be at {commit}"
    scratch = Path(closing.enter_context(tempfile.TemporaryDirectory()))
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    done = subprocess.run(
        [*command, "-d", str(scratch), release], capture_output=True, text=True, check=False
    )
    archives = list(scratch.glob("*.tar.gz"))
    if done.returncode or not archives:
        raise RuntimeError(f"no sources of {name}: lay them out under REPOS={name}'s parent folder")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(scratch, filter="data")
    return next(path for path in scratch.iterdir() if path.is_dir()), f"release {release}"


def _compare(corpus: Corpus, embedder: Embedder | None) -> list[dict[str, object]]:
    ways = [
        ("keyword mode", engine_search(corpus), True),
    ]
    if embedder is not None:
        ways += [
            ("neural mode", engine_search(corpus, embedder), True),
            (
                "neural mode, question as typed",
                engine_search(corpus, embedder, build_typed_query),
                True,
            ),
            (f"{embedder.name} alone", vector_search(corpus, embedder), False),
        ]
    plain = _measures(bm25_search(corpus), corpus.questions)
    rows: list[dict[str, object]] = []
    for name, search, judged in ways:
        begun = time.perf_counter()
        found = _measures(search, corpus.questions)
        milliseconds = 1000 * (time.perf_counter() - begun) / len(corpus.questions)
        print(f"{corpus.name}, {name}: {milliseconds:.0f} ms a question", file=sys.stderr)
        for measure, value in found.items():
            rows.append(
                {
                    "name": f"{corpus.name}: {measure}, embedded engine, {name}",
                    "value": round(value, 4),
                    "unit": "",
                    "compared_with": f"plain BM25 {plain[measure]:.4f}",
                    "ratio": round(value / plain[measure], 3) if plain[measure] else None,
                    "budget": None,
                    "met": value > plain[measure] if measure == "MRR" and judged else None,
                }
            )
    return rows


def engine_search(
    corpus: Corpus,
    embedder: Embedder | None = None,
    build: Callable[[str], BuiltQuery] = build_query,
) -> Search:
    """The product's query parameters on the embedded engine, question by question; with an
    embedder in neural mode.
    """
    engine = Engine(embedder=embedder)
    mode = {} if embedder is None else {"mode": "neuralSearch"}
    engine.set_settings("eval", {**INDEX_SETTINGS, **mode})
    labels: dict[str, str] = {}
    tasks: list[int] = []
    for start in range(0, len(corpus.records), BATCH):
        batch = corpus.records[start : start + BATCH]
        labels.update((str(one["objectID"]), corpus.label(one)) for one in batch)
        requests = [{"action": "addObject", "body": dict(one)} for one in batch]
        tasks.append(engine.batch("eval", requests)[0])
    while any(engine.task_status(task)["status"] != "published" for task in tasks):
        time.sleep(0.1)

    def search(question: str) -> list[str]:
        answer = engine.search(
            "eval",
            {
                **QUERY_PARAMETERS,
                **build(question).parameters(),
                "hitsPerPage": DEPTH,
                "filters": 'NOT entity_type:"import"',
                "attributesToRetrieve": [],
                "attributesToHighlight": [],
            },
        )
        return list(dict.fromkeys(labels[hit["objectID"]] for hit in answer["hits"]))

    return search


def vector_search(corpus: Corpus, embedder: Embedder) -> Search:
    """The embedding model alone: the question as it was asked, the records that are nearest."""
    settings = Settings.of(INDEX_SETTINGS)
    vectors = embedder.passages([embedded_text(one, settings) for one in corpus.records])
    labels = [corpus.label(one) for one in corpus.records]

    def search(question: str) -> list[str]:
        similar = vectors @ embedder.query(question)
        nearest = (-similar).argsort(kind="stable")[:DEPTH]
        return list(dict.fromkeys(labels[number] for number in nearest))

    return search


def bm25_search(corpus: Corpus) -> Search:
    """BM25 over the attributes that the engine searches."""
    index = Bm25([record_text(one) for one in corpus.records])
    labels = [corpus.label(one) for one in corpus.records]
    return lambda question: list(
        dict.fromkeys(labels[number] for number in index.search(question, DEPTH))
    )


def _measures(search: Search, questions: Sequence[Question]) -> dict[str, float]:
    ranks: list[float] = []
    for question in questions:
        found = search(question.text)
        places = [place for place, label in enumerate(found, 1) if label in question.gold]
        ranks.append(places[0] if places else math.inf)
    total = len(ranks)
    return {
        "MRR": sum(1 / rank for rank in ranks) / total,
        "nDCG@10": sum(1 / math.log2(1 + rank) for rank in ranks if rank <= 10) / total,
        "recall@10": sum(rank <= 10 for rank in ranks) / total,
        "hit@5": sum(rank <= 5 for rank in ranks) / total,
    }
