"""What commands in other processes must know of the stack that runs here, in a file of its own."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from devstack.failure import CommandError, reason

STATE_FILE = Path("build", "devstack.json")


@dataclass(frozen=True, slots=True)
class StackState:
    """Where a running stack answers; ``environment`` leads to its bucket and holds nothing else."""

    url: str
    api_key: str
    environment: Mapping[str, str]

    @classmethod
    def load(cls, path: Path = STATE_FILE) -> StackState | None:
        """The state of the stack that runs here, or None; ``CommandError`` if it is not ours."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            return cls(document["url"], document["api_key"], document["environment"])
        except PermissionError as exc:
            raise CommandError(
                f"{path} belongs to another user's stack. Give an address with --url."
            ) from exc
        except (OSError, ValueError, KeyError, TypeError):
            return None


class StateFile:
    """The file, locked as long as this process runs its stack, and removed at the end.

    The lock goes with the process, so that a stack that was killed is in nobody's way. Raises
    ``CommandError`` when a stack runs already or the file cannot be written.
    """

    def __init__(self, path: Path = STATE_FILE) -> None:
        self._path = path
        self._descriptor = -1

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            while not self._locked():
                pass
        except BlockingIOError as exc:
            raise CommandError(self._running()) from exc
        except OSError as exc:
            raise CommandError(
                f"{self._path} cannot be written ({reason(exc)}), and the other commands find"
                " the stack by it. Start it in a folder that can be written."
            ) from exc
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def write(self, state: StackState) -> None:
        """Write it where ``StackState.load`` looks; only the file's owner can read it."""
        document = {
            "url": state.url,
            "api_key": state.api_key,
            "environment": dict(state.environment),
        }
        os.pwrite(self._descriptor, json.dumps(document, indent=2).encode(), 0)

    def _locked(self) -> bool:
        """Open and lock the file; False when its holder removed it in the meantime."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.stat(self._path), os.fstat(descriptor)):
                    # Whoever was killed left its own state, with whatever mode.
                    os.fchmod(descriptor, 0o600)
                    os.truncate(descriptor, 0)
                    self._descriptor = descriptor
                    return True
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return False

    def _running(self) -> str:
        state = StackState.load(self._path)
        where = f" at {state.url}" if state else ""
        return (
            f"An embedded stack runs here already{where}. Stop it with Ctrl-C where it was"
            " started, or start this one in another folder."
        )
