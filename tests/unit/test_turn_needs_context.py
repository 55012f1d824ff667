"""Which messages can be searched for as they stand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.turn.language_model import Message
from plumbline.turn.needs_context import needs_context, with_previous_question


@pytest.mark.parametrize(
    "query",
    [
        "and for Go?",
        "And in TypeScript?",
        "What about Rust?",
        "how about version 6?",
        "BTW, how about version 6.16.0?",
        "in Python?",
        "Rust?",
        "why?",
        "How so",
        "How does it work?",
        "Where is it defined?",
        "Where does it originate from?",
        "Tax-wise, how does it work?",
        "Is it fast?",
        "Are they cached?",
        "How do they compare?",
        "How do I do that in Java?",
        "Does that also work on Windows?",
        "what does this function return?",
        "why does this error happen",
        "Can you show me an example?",
        "show me the code",
        "give me more details of it",
        "explain",
        "tell me more",
        "can you elaborate?",
        "how do I use the second one?",
        "Which one is faster?",
        "would the same work in Kotlin?",
        "how do I do the same with Vue",
        "What did you mention about TTL?",
        "In your example, what is ctx?",
        "thanks!",
        "so what is the next step",
        "what if it fails?",
        "any other options?",
        "",
    ],
)
def test_a_follow_up_cannot_stand_alone(query: str) -> None:
    assert needs_context(query)
    assert not needs_context(query, has_history=False)


@pytest.mark.parametrize(
    "query",
    [
        "What is the default timeout?",
        "rate limits",
        "parse_file",
        "what does parse_file return?",
        "Where is SessionState defined and how is it reset?",
        "How does the gate decide when it refuses a request?",
        "Is it possible to index a private repository?",
        "How long does it take to index a repository?",
        "What does it take to deploy this project?",
        "how to log a variable without knowing its type in python",
        "If a token expires, how is it renewed?",
        "Which function is it that parses front matter?",
        "How do I get the last item of a list?",
        "Where is the first paragraph split?",
        "How can I update the cluster master?",
        "Do common stocks and preferred stocks have any differences?",
        "What are the grounds for lodging an appeal?",
    ],
)
def test_a_whole_question_does_not_wait(query: str) -> None:
    assert not needs_context(query)


@pytest.mark.parametrize(
    ("name", "field", "at_most"),
    [
        ("swe_qa/flask.jsonl", "question", 0.07),
        ("swe_qa/requests.jsonl", "question", 0.07),
        ("cosqa/dev_queries.jsonl", "query", 0.01),
    ],
)
def test_questions_that_stand_alone_by_design_seldom_wait(
    data_dir: Path, name: str, field: str, at_most: float
) -> None:
    rows = [json.loads(line) for line in (data_dir / name).read_text("utf-8").splitlines()]
    questions = [row.get(field) or row["question"] for row in rows]
    waiting = [question for question in questions if needs_context(question)]
    assert len(waiting) <= at_most * len(questions), waiting


def test_a_follow_up_without_a_model_takes_the_last_question_along() -> None:
    history = [
        Message("user", "How do I reset\na session?"),
        Message("assistant", "Call reset."),
    ]
    assert with_previous_question("and in Go?", history) == "How do I reset a session? and in Go?"
    assert with_previous_question("and in Go?", []) == "and in Go?"
