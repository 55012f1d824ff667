"""What a team edits: brand, personas, signals, chips, retrieval, handoff evidence, audit policy.

An instance is one YAML file; ``instances/`` holds those that ship. ``docs/instances.md`` shows how
to add one.
"""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from plumbline.errors import InstanceError
from plumbline.instance_yaml import LocatedYaml, load_located_yaml
from plumbline.policy import AuditPolicy

SignalName = Literal[
    "stack", "scale", "role", "pain", "brand", "industry", "product", "architecture_concepts"
]
Intent = Literal["ae", "technical"]
Phrases = tuple[Annotated[str, Field(min_length=1, max_length=200)], ...]

MAVERICK = "maverick"
SIGNAL_NAMES: tuple[SignalName, ...] = get_args(SignalName)

# The labels that open each instruction line of a prompt. Every instance's audit policy strips
# them, so that an instruction that a model repeats never reaches the reader.
PROMPT_LABELS = (
    "PERSONA DIRECTIVE",
    "KNOWLEDGE DIRECTIVE",
    "ANSWER DIRECTIVE",
    "DISCOVERY DIRECTIVE",
    "READER PROFILE",
    "SOURCE DATA",
    "SIGNAL EXTRACTION",
)

_INSTANCES = Path(__file__).resolve().parent / "instances"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Brand(_Part):
    """Who speaks, and about what."""

    name: str = Field(min_length=1, max_length=80)
    description: str = Field(min_length=1, max_length=400)


class Persona(_Part):
    """One voice. ``voice`` enters the prompt; ``aliases`` are what a front end may call it."""

    name: str = Field(min_length=1, max_length=80)
    title: str = Field(min_length=1, max_length=120)
    specialist: bool = False
    aliases: Phrases = ()
    voice: Phrases = Field(min_length=1)


class Chip(_Part):
    """A canned answer to a discovery question, and the signal's value that it stands for."""

    label: str = Field(min_length=1, max_length=80)
    value: str = Field(min_length=1, max_length=120)


class SignalSpec(_Part):
    """One of the eight signals: how it is asked for, denied, and turned into a boost."""

    label: str = Field(min_length=1, max_length=60)
    question: str = Field(min_length=1, max_length=300)
    chips: tuple[Chip, ...] = ()
    keywords: Phrases = ()
    boosts: tuple[str, ...] = ()


class IntentRules(_Part):
    """Words that decide between the two intents whatever the model says."""

    default: Intent
    technical_markers: Phrases = ()
    non_technical_blockers: Phrases = ()


class Pricing(_Part):
    """When a question is about cost or scale, and which records then belong to the sources."""

    markers: Phrases = ()
    query: str = Field(default="pricing", min_length=1, max_length=200)
    where: dict[str, Phrases] = Field(default_factory=dict)
    count: int = Field(default=2, ge=1, le=5)


class RetrievalRules(_Part):
    """``boosts``: facet attribute to the score of a match, 1 to 65535 (Algolia's range)."""

    match_count: int = Field(default=8, ge=1, le=50)
    boosts: dict[str, Annotated[int, Field(ge=1, le=65_535)]]
    customer_source_types: Phrases = ()
    pricing: Pricing = Pricing()


class DiscoveryRules(_Part):
    """Words by which a reader refuses a question."""

    refusals: Phrases = ()


class Evidence(_Part):
    """Words that speak for a specialist, in the question or in the value of ``signal``.

    ``because`` is shown to the reader in the proposal.
    """

    words: Phrases = Field(min_length=1)
    weight: int = Field(ge=1, le=10)
    because: str = Field(min_length=1, max_length=160)
    signal: SignalName | None = None


class HandoffRules(_Part):
    """``targets``: specialist to its evidence; a proposal needs a score of ``threshold``."""

    threshold: int = Field(default=4, ge=1, le=100)
    targets: dict[str, tuple[Evidence, ...]] = Field(default_factory=dict)


class Instance(_Part):
    """One deployment's character, whole and frozen."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    brand: Brand
    personas: dict[str, Persona]
    signals: dict[SignalName, SignalSpec]
    intent: IntentRules
    retrieval: RetrievalRules
    discovery: DiscoveryRules = DiscoveryRules()
    handoff: HandoffRules = HandoffRules()
    audit: AuditPolicy

    @field_validator("audit")
    @classmethod
    def _knows_prompt_labels(cls, policy: AuditPolicy) -> AuditPolicy:
        missing = tuple(label for label in PROMPT_LABELS if label not in policy.leak_labels)
        return policy.model_copy(update={"leak_labels": policy.leak_labels + missing})

    def signal(self, name: str) -> SignalSpec:
        """The signal of that name; ``KeyError`` for what is none."""
        return self.signals[name]  # type: ignore[index]  # a plain dict at run time

    def chip_map(self) -> dict[str, tuple[SignalName, str]]:
        """Folded chip label to field and value. Source: seed 000, CHIP_SIGNAL_MAP."""
        return {
            chip.label.casefold(): (field, chip.value)
            for field, signal in self.signals.items()
            for chip in signal.chips
        }


_cache: dict[Path, tuple[int, Instance]] = {}
_lock = threading.Lock()


def load_instance(name_or_path: str | Path, *, reload_on_change: bool = False) -> Instance:
    """The instance of that name, or in that file, read once a process.

    With ``reload_on_change`` a file that was written since is read again. Raises
    ``InstanceError``, which names the file and the line.
    """
    path = _path(name_or_path)
    with _lock:
        cached = _cache.get(path)
        if cached is not None and not reload_on_change:
            return cached[1]
        try:
            written = path.stat().st_mtime_ns
            if cached is not None and cached[0] == written:
                return cached[1]
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            raise InstanceError(f"{path}:1: cannot be read as UTF-8 text.") from exc
        instance = parse_instance(text, str(path))
        _cache[path] = (written, instance)
        return instance


def parse_instance(text: str, file: str) -> Instance:
    """The instance that this YAML describes; ``file`` is what an ``InstanceError`` calls it."""
    document = load_located_yaml(text, file)
    try:
        instance = Instance.model_validate(document.value)
    except ValidationError as exc:
        first = exc.errors()[0]
        where = first["loc"]
        raise document.error(where, str(first["msg"])) from exc
    _check_references(instance, document)
    return instance


def _path(name_or_path: str | Path) -> Path:
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or text.endswith((".yaml", ".yml")):
        return Path(text).resolve()
    path = _INSTANCES / f"{text}.yaml"
    if _NAME.fullmatch(text) is None or not path.is_file():
        known = ", ".join(sorted(file.stem for file in _INSTANCES.glob("*.yaml")))
        raise InstanceError(
            f"{text[:80]}:1: no instance of this name ships; known are {known}, "
            "or give the path of a file."
        )
    return path


def _check_references(instance: Instance, document: LocatedYaml) -> None:
    """What one field alone cannot show: names that point at each other."""
    if MAVERICK not in instance.personas:
        raise document.error(("personas",), f"needs {MAVERICK!r}, who answers by default")
    if instance.personas[MAVERICK].specialist:
        raise document.error(("personas", MAVERICK, "specialist"), "maverick is no specialist")
    _check_aliases(instance, document)
    for target in instance.handoff.targets:
        persona = instance.personas.get(target)
        if persona is None or not persona.specialist:
            raise document.error(
                ("handoff", "targets", target), "is no persona with specialist: true"
            )
    labels: dict[str, str] = {}
    for field in SIGNAL_NAMES:
        signal = instance.signals.get(field)
        if signal is None:
            raise document.error(("signals",), f"needs the signal {field!r}")
        for number, boost in enumerate(signal.boosts):
            if boost not in instance.retrieval.boosts:
                raise document.error(
                    ("signals", field, "boosts", number), f"{boost!r} is not in retrieval.boosts"
                )
        for number, chip in enumerate(signal.chips):
            folded = chip.label.casefold()
            if folded in labels:
                raise document.error(
                    ("signals", field, "chips", number, "label"),
                    f"{chip.label!r} is a chip of {labels[folded]!r} already",
                )
            labels[folded] = field


def _check_aliases(instance: Instance, document: LocatedYaml) -> None:
    owners = {persona_id.casefold(): persona_id for persona_id in instance.personas}
    for persona_id, persona in instance.personas.items():
        for number, alias in enumerate(persona.aliases):
            owner = owners.setdefault(alias.casefold(), persona_id)
            if owner != persona_id:
                raise document.error(
                    ("personas", persona_id, "aliases", number),
                    f"{alias!r} means {owner!r} already",
                )
