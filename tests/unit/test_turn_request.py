"""The body of POST /, and what is said of a wrong one."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.errors import InvalidRequest
from plumbline.turn.language_model import Message
from plumbline.turn.request import HISTORY_KEPT, decode_turn


def test_the_newest_messages_are_kept_and_roles_are_the_models() -> None:
    history = [{"role": "ai" if n % 2 else "user", "content": f"m{n}"} for n in range(30)]
    request = decode_turn({"query": "q", "history": history})
    assert len(request.messages) == HISTORY_KEPT
    assert request.messages[-1] == Message("assistant", "m29")


def test_an_empty_history_is_told_from_an_absent_one() -> None:
    assert decode_turn({"query": "q"}).history is None
    assert decode_turn({"query": "q", "history": []}).history == ()


def test_long_messages_are_cut_and_blank_ones_left_out() -> None:
    history = [{"role": "user", "content": "x" * 9000}, {"role": "user", "content": "  "}]
    (message,) = decode_turn({"query": "q", "history": history}).messages
    assert len(message.content) == 8000


@pytest.mark.parametrize("session", [None, 7, [], {"a": 1}])
def test_a_session_id_of_another_kind_is_no_error(session: object) -> None:
    assert decode_turn({"query": "q", "session_id": session}).session_id is None


@pytest.mark.parametrize(
    "extra", [{"consent": False}, {"trigger": "handshake"}, {"deny": ["role"]}]
)
def test_a_query_is_optional_where_something_else_is_said(extra: dict[str, Any]) -> None:
    assert decode_turn(extra).query == ""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "query must be 1 to 2000 characters."),
        ({"query": "  "}, "query must be 1 to 2000 characters."),
        ({"query": "x" * 2001}, "query must be 1 to 2000 characters."),
        ({"query": 7}, "query must be text of 1 to 2000 characters."),
        ({"query": "q", "history": "x"}, "history: "),
        ({"query": "q", "history": [{"role": "system", "content": "x"}]}, "history.0.role: "),
        ({"query": "q", "trigger": "fire"}, "trigger: "),
        ({"query": "q", "consent": "perhaps"}, "consent: "),
        ({"query": "q", "deny": "role"}, "deny: "),
        ({"query": "q", "repository": "x" * 501}, "repository: "),
    ],
)
def test_a_wrong_field_is_named(body: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode_turn(body)
    assert caught.value.message.startswith(says)
    assert caught.value.message.endswith(".")
