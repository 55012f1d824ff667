"""Terraform and HCL: one entity a top-level block, a local, an assignment; nested blocks never."""

from __future__ import annotations

import re
import time

from tree_sitter import Node

from plumbline.index.entities import Entity, ParseTimeout, clip_body, first_sentence, one_line
from plumbline.index.parsing.definitions import signature_of, text_of
from plumbline.index.parsing.doc_comments import comment_before, describe

_CHECK_EVERY = 256
_MAX_BODY_BYTES = 8000
_HEREDOC = re.compile(r"\A<<-?\s*\w+\r?\n(.*?)(?:\n\s*\w+\s*)?\Z", re.S)
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": ""}


def entities(root: Node, source: bytes, *, deadline: float) -> list[Entity]:
    """Return the file's blocks as ``type.label.label``, its locals as ``local.name``, and top-level
    assignments (``.tfvars``, Terragrunt's ``inputs``) by their name.

    ``doc`` is the block's ``description`` attribute, else the comment before it. Raises
    ParseTimeout when ``deadline`` (``time.monotonic``) passes. Source: seed 002, "Record fields".
    """
    found: list[Entity] = []
    for count, node in enumerate(_statements(root)):
        if count % _CHECK_EVERY == 0 and time.monotonic() > deadline:
            raise ParseTimeout("reading the blocks took longer than the file's budget")
        if node.type == "attribute":
            name = _attribute_name(node, source)
            found.append(_assignment(node, name, "Terraform assignment", source))
        elif node.type == "block":
            _add_block(node, source, found, deadline)
    return found


def _statements(root: Node) -> list[Node]:
    """The top level's blocks and assignments, those beside broken text included."""
    statements: list[Node] = []
    for child in root.named_children:
        if child.type == "body":
            statements.extend(child.named_children)
        elif child.type == "ERROR":
            for inner in child.named_children:
                statements.extend(inner.named_children if inner.type == "body" else [inner])
        else:
            statements.append(child)
    return statements


def _add_block(node: Node, source: bytes, found: list[Entity], deadline: float) -> None:
    words = [
        text_of(source, child, 200).strip('"')
        for child in node.named_children
        if child.type in ("identifier", "string_lit")
    ]
    if not words:
        return
    body = next((child for child in node.named_children if child.type == "body"), None)
    attributes = [c for c in body.named_children if c.type == "attribute"] if body else []
    if words == ["locals"]:
        for count, attribute in enumerate(attributes):
            if count % _CHECK_EVERY == 0 and time.monotonic() > deadline:
                raise ParseTimeout("reading the locals took longer than the file's budget")
            name = f"local.{_attribute_name(attribute, source)}"
            found.append(_assignment(attribute, name, "Terraform local", source))
        return
    name = ".".join(words)
    opened = next((c for c in node.named_children if c.type == "block_start"), None)
    doc = _described(attributes, source)
    found.append(
        _entity(
            node,
            source,
            name=name,
            kind_label=f"Terraform {words[0]}",
            signature=signature_of(
                source,
                node.start_byte,
                opened.start_byte if opened else node.end_byte,
                comments="any",
            ),
            doc=doc,
        )
    )


def _assignment(node: Node, name: str, kind_label: str, source: bytes) -> Entity:
    signature = signature_of(source, node.start_byte, node.end_byte, comments="any")
    return _entity(node, source, name=name, kind_label=kind_label, signature=signature, doc="")


def _entity(
    node: Node, source: bytes, *, name: str, kind_label: str, signature: str, doc: str
) -> Entity:
    start = node.start_byte
    last = node.end_point
    text = source[start : min(node.end_byte, start + _MAX_BODY_BYTES)]
    return Entity(
        entity_type="terraform_block",
        name=name,
        qualified_name=name,
        kind_label=kind_label,
        line_start=node.start_point[0] + 1,
        line_end=max(last[0] + (last[1] > 0), node.start_point[0] + 1),
        signature=signature[:500],
        body=clip_body(text.decode("utf-8", "replace")),
        doc=doc or describe(comment_before(source, start, "any")),
    )


def _attribute_name(node: Node, source: bytes) -> str:
    named = node.named_children
    return one_line(text_of(source, named[0], 200)) if named else ""


def _described(attributes: list[Node], source: bytes) -> str:
    for attribute in attributes:
        if _attribute_name(attribute, source) == "description":
            value = attribute.named_children[-1]
            text = text_of(source, value, 2000).strip()
            heredoc = _HEREDOC.match(text)
            if heredoc:
                return first_sentence(heredoc[1])
            return first_sentence(_ESCAPE.sub(lambda m: _ESCAPED.get(m[1], m[1]), text.strip('"')))
    return ""
