"""Entities become Algolia records. Pure. Source: seed 002, "Record fields" onwards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from plumbline.index.collector import collector_paused
from plumbline.index.entities import MAX_BODY_CHARS, MAX_BODY_LINES, Entity, ParsedFile, clip_body
from plumbline.index.languages import is_test

Record = dict[str, object]

MAX_RECORD_BYTES = 9000
_MAX_TEXT_CHARS = 500
# What is left of the limit for names, numbers, and a return type of 500 characters.
_SURE_BYTES = 5000
_NO_CONTROLS = dict.fromkeys([*range(32), 127])
_RANK_WEIGHTS = {
    "class": 3,
    "function": 2,
    "terraform_block": 2,
    "doc_section": 1,
    "import": 0,
}
# Beside file 002's fields; a record too big without content and parameters loses them in turn.
_SHED_IN_ORDER = (
    "heading_path",
    "industry_tag",
    "product_tag",
    "feature_tag",
    "solution_tag",
    "qualified_name",
    "title",
)
_OUTSIDE_THE_HASH = frozenset({"commit_sha", "repository_url"})


def object_id(
    repository_id: int,
    file_path: str,
    entity_type: str,
    entity_name: str,
    line_start: int,
    ordinal: int = 1,
) -> str:
    """``<repository_id>_<sha1 of path:type:name:line>``; the n-th equal entity hashes with ``#n``.

    Source: seed 002, "The objectID scheme"; design, decision 13.
    """
    key = f"{file_path}:{entity_type}:{entity_name}:{line_start}"
    if ordinal > 1:
        key += f"#{ordinal}"
    digest = hashlib.sha1(key.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return f"{repository_id}_{digest.hexdigest()}"


def fit_record(record: Record) -> Record:
    """The record under 9000 bytes of UTF-8 JSON: content cut by the excess, then no parameters.

    If that does not help, the fields beside file 002's go one by one, the longest lists first; a
    record of capped text fields alone is left as it is. Source: seed 002, "The 9000-byte trim".
    """
    excess = _json_size(record) - MAX_RECORD_BYTES + 1
    if excess <= 0:
        return record
    content = str(record.get("content") or "").encode("utf-8", "replace")
    kept = content[: max(len(content) - excess, 0)].decode("utf-8", "ignore")
    record = {**record, "content": kept}
    if kept or _json_size(record) < MAX_RECORD_BYTES:
        return record
    record["parameters"] = []
    for name in _SHED_IN_ORDER:
        if _json_size(record) < MAX_RECORD_BYTES:
            break
        record.pop(name, None)
    return record


@collector_paused()
def build_documents(
    parsed: Sequence[ParsedFile] | ParsedFile,
    *,
    repository_id: int,
    repository: str,
    repository_url: str,
    commit_sha: str | None,
    source_type: str | None = None,
    customer: str | None = None,
) -> list[Record]:
    """One record an entity, in order: seed 002's fields, then the product's beside them.

    ``repository`` is ``owner/name``. ``source_type`` and ``customer`` hold where front matter names
    none; without them ``source_type`` is ``docs`` for sections and ``code`` for the rest.
    """
    files = [parsed] if isinstance(parsed, ParsedFile) else parsed
    records: list[Record] = []
    ordinals: dict[tuple[str, str, str, int], int] = {}
    for file in files:
        # A name that is not UTF-8 arrives with surrogates in it, which JSON cannot carry.
        path = file.path.encode("utf-8", "replace").decode()
        file_is_test = is_test(path)
        for entity in file.entities:
            record = _seed_fields(entity, path, file.language, repository_id, file_is_test)
            is_docs = entity.entity_type == "doc_section"
            if entity.qualified_name != entity.name and not is_docs:
                record["qualified_name"] = _capped(entity.qualified_name)
            if customer:
                record["customer"] = customer
            record["source_type"] = source_type or ("docs" if is_docs else "code")
            if entity.extra:
                record |= entity.extra
            key = (path, entity.entity_type, str(record["entity_name"]), entity.line_start)
            ordinal = ordinals[key] = ordinals.get(key, 0) + 1
            record["objectID"] = object_id(repository_id, *key, ordinal)
            record["repository"] = repository
            record["repository_url"] = repository_url
            record["commit_sha"] = commit_sha
            records.append(record if _surely_fits(entity, record) else fit_record(record))
    return records


def content_hash(record: Record) -> str:
    """A hash over everything but the commit and the repository's address.

    A new commit, or another address, does not make a record a changed one.
    Source: design, decision 12.
    """
    kept = {name: value for name, value in record.items() if name not in _OUTSIDE_THE_HASH}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _seed_fields(
    entity: Entity, path: str, language: str | None, repository_id: int, file_is_test: bool
) -> Record:
    signature = _capped(entity.signature)
    label = f"{entity.kind_label}: {entity.qualified_name}"
    parameters = list(entity.parameters)
    lines = entity.line_end - entity.line_start + 1
    return {
        "objectID": "",
        "repository_id": repository_id,
        "file_path": path,
        "entity_type": entity.entity_type,
        "entity_name": _capped(entity.name),
        "description": _capped(f"{label} — {entity.doc}" if entity.doc else label),
        "parameters": parameters,
        "return_type": _capped(entity.return_type) if entity.return_type else None,
        "line_start": entity.line_start,
        "line_end": entity.line_end,
        "language": language,
        "signature": signature,
        "content": _content(entity, signature),
        "rank_weight": _RANK_WEIGHTS[entity.entity_type],
        "is_test": file_is_test,
        "parameter_count": len(parameters),
        "lines_of_code": lines if lines > 0 else 1,
    }


def _content(entity: Entity, signature: str) -> str:
    """Signature and body, unless the body starts with the signature; the statement of an import."""
    body = entity.body
    if not body:
        return entity.signature[:MAX_BODY_CHARS]
    if len(body) > MAX_BODY_CHARS or body.count("\n") >= MAX_BODY_LINES:
        body = clip_body(body)
    return body if body.startswith(signature) else f"{signature}\n{body}"


def _capped(text: str) -> str:
    """At most 500 characters, without control characters: JSON spends six bytes on each."""
    text = text[:_MAX_TEXT_CHARS]
    return text if text.isprintable() else text.translate(_NO_CONTROLS)


def _surely_fits(entity: Entity, record: Record) -> bool:
    """Whether the record is small at six bytes of JSON a character: writing each as JSON to learn
    its size would cost more than making it did.
    """
    if entity.extra:
        return False
    count = len(entity.body) + 2 * len(entity.signature) + len(entity.doc)
    count += len(entity.name) + 2 * len(entity.qualified_name) + len(str(record["file_path"]))
    for parameter in entity.parameters:
        count += len(parameter) + 1
    return count * 6 < _SURE_BYTES


def _json_size(record: Record) -> int:
    return len(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
