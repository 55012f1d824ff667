"""``plumbline demo`` and ``plumbline dev``: the stack for one question, or until Ctrl-C."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from devstack.client import Client
from devstack.engine.embedder import NoEmbedder, open_embedder
from devstack.failure import CommandError
from devstack.indexing import index_repository
from devstack.show import show_events, show_repository, show_text
from devstack.stack import API_KEY, Stack
from devstack.state import StateFile
from devstack.terminal import printable, say


def run_demo(
    repository: str, question: str, *, ref: str | None, as_events: bool, environ: Mapping[str, str]
) -> None:
    """Start the stack, index, ask, show, and stop everything that was started."""
    say("Starting the embedded stack ...")
    with Stack({"LOG_LEVEL": "CRITICAL", **environ}) as stack:
        say(f"Ready at {stack.url} (Redis: {stack.redis_kind}).")
        client = Client(stack.url, API_KEY)
        indexed = _index(client, repository, stack.environment, ref)
        show_repository(indexed, file=sys.stderr)
        say(f"\nQuestion: {printable(question)}\n")
        events = client.ask({"query": question, "repository": indexed["url"]})
        (show_events if as_events else show_text)(events)


def _index(
    client: Client, repository: str, environment: Mapping[str, str], ref: str | None
) -> dict[str, Any]:
    try:
        return index_repository(client, repository, environment, ref=ref)
    except CommandError as exc:
        # The queue would try again later, but the stack ends here.
        raise CommandError(str(exc).removesuffix(" It is tried again.")) from exc


def run_dev(
    *, port: int, folder: Path | None, environ: Mapping[str, str], neural: str | None = None
) -> None:
    """Keep the stack up until it is interrupted; ``neural`` names a model to search by, too."""
    try:
        embedder = open_embedder(neural) if neural else None
    except NoEmbedder as exc:
        raise CommandError(str(exc)) from exc
    try:
        with (
            StateFile() as state,
            Stack(environ, port=port, folder=folder, embedder=embedder) as stack,
        ):
            state.write(stack.state)
            _greet(stack)
            # Ctrl-C raises here; SIGTERM and a closed terminal do the same.
            threading.Event().wait()
    except KeyboardInterrupt:
        say("\nStopped.")


def _greet(stack: Stack) -> None:
    environment = stack.environment
    say(
        f"""\
Search       {stack.url}/
Suggestions  {stack.url}/suggestions?q=
Index        {environment["ALGOLIA_URL"]} ({environment["ALGOLIA_APP_ID"]})
Bucket       s3://{environment["BUCKET_NAME"]} at {environment["AWS_ENDPOINT_URL"]}
Redis        {stack.redis_kind} at {_host(environment["REDIS_URL"])}

  .venv/bin/plumbline index .
  curl -N -H 'x-api-key: {API_KEY}' -d '{{"query": "Where are links checked?"}}' {stack.url}/

Ctrl-C stops it."""
    )


def _host(url: str) -> str:
    """Host and port alone: an address may carry a password."""
    return urlsplit(url).netloc.rpartition("@")[2]
