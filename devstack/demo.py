"""``plumbline demo`` and ``plumbline dev``: the stack for one question, or until Ctrl-C."""

from __future__ import annotations

import errno
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from devstack.client import Client
from devstack.failure import CommandError
from devstack.indexing import index_repository
from devstack.show import show_events, show_repository, show_text
from devstack.stack import API_KEY, STATE_FILE, Stack


def run_demo(
    repository: str, question: str, *, ref: str | None, as_events: bool, environ: Mapping[str, str]
) -> None:
    """Start the stack, index, ask, show, and stop everything that was started."""
    _say("Starting the embedded stack ...")
    with Stack(environ) as stack:
        _say(f"Ready at {stack.url} (Redis: {stack.redis_kind}).")
        client = Client(stack.url, API_KEY)
        indexed = index_repository(client, repository, stack.environment, ref=ref)
        show_repository(indexed, file=sys.stderr)
        _say(f"\nQuestion: {question}\n")
        events = client.ask({"query": question, "repository": indexed["url"]})
        (show_events if as_events else show_text)(events)


def run_dev(*, port: int, folder: Path | None, environ: Mapping[str, str]) -> None:
    """Keep the stack up until it is interrupted."""
    try:
        with Stack(environ, port=port, folder=folder) as stack:
            stack.state.save()
            try:
                _greet(stack)
                # Ctrl-C raises here; SIGTERM does the same.
                threading.Event().wait()
            finally:
                STATE_FILE.unlink(missing_ok=True)
    except OSError as exc:
        if exc.errno != errno.EADDRINUSE:
            raise
        raise CommandError(
            f"Port {port} is in use. Stop what listens there, or give another with"
            " `make dev PORT=...` (plumbline dev --port)."
        ) from exc
    except KeyboardInterrupt:
        _say("\nStopped.")


def _greet(stack: Stack) -> None:
    environment = stack.environment
    _say(
        f"""\
Search       {stack.url}/
Suggestions  {stack.url}/suggestions?q=
Index        {environment["ALGOLIA_URL"]} ({environment["ALGOLIA_APP_ID"]})
Bucket       s3://{environment["BUCKET_NAME"]} at {environment["AWS_ENDPOINT_URL"]}
Redis        {environment["REDIS_URL"]} ({stack.redis_kind})

  .venv/bin/plumbline index .
  curl -N -H 'x-api-key: {API_KEY}' -d '{{"query": "Where are links checked?"}}' {stack.url}/

Ctrl-C stops it."""
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
