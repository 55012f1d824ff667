"""Browse: every record, a page at a time, by a cursor that says where the last page ended."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from devstack.engine.errors import BadRequest
from devstack.engine.parameters import resolve
from devstack.engine.schema import expand_params_string
from devstack.engine.search import matching, retrieved
from devstack.engine.text_index import Snapshot


def browse(snapshot: Snapshot, body: Mapping[str, Any]) -> dict[str, Any]:
    """One page of the records that the query and the filters match, in the order in which they
    were written. ``cursor`` is in the answer while there is more; a record written meanwhile is
    still met, a deleted one is not.
    """
    given = expand_params_string(body)
    after = -1
    if (cursor := given.pop("cursor", None)) is not None:
        after, stored = _opened(cursor)
        given = {**stored, **given}
    parameters = resolve(given, snapshot.settings)
    size = parameters.hits_per_page if "hitsPerPage" in given else 1000
    if size < 1:
        raise BadRequest('Invalid value for "hitsPerPage" parameter, expected 1 to 1000')
    found = matching(snapshot, given)
    rest = [document for document in found if document.number > after]
    wanted = parameters.values.get("attributesToRetrieve")
    never = snapshot.settings.get("unretrievableAttributes") or ()
    page = rest[:size]
    response: dict[str, Any] = {
        "hits": [
            retrieved(one.record(), ["*"] if wanted is None else wanted, never) for one in page
        ],
        "nbHits": len(found),
        "page": 0,
        "nbPages": -(-len(found) // size),
        "hitsPerPage": size,
        "processingTimeMS": 0,
        "query": parameters.query,
        "params": "",
    }
    if len(rest) > size:
        # The last page has no cursor at all: clients stop on its absence.
        response["cursor"] = _sealed(page[-1].number, given)
    return response


def _sealed(number: int, given: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps([number, dict(given)]).encode()).decode()


def _opened(cursor: Any) -> tuple[int, dict[str, Any]]:
    try:
        number, given = json.loads(base64.urlsafe_b64decode(str(cursor).encode()))
    except (ValueError, TypeError, binascii.Error) as exc:
        raise BadRequest("Invalid cursor") from exc
    if not isinstance(number, int) or not isinstance(given, dict):
        raise BadRequest("Invalid cursor")
    return number, given
