"""Static files: only those that were there, under headers that let nothing else in."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.web_page import WebPage


@pytest.fixture
def page(tmp_path: Path) -> WebPage:
    web = tmp_path / "web"
    (web / "js").mkdir(parents=True)
    (web / "index.html").write_text("<!doctype html>", encoding="utf-8")
    (web / "js" / "chat.js").write_text("export {}", encoding="utf-8")
    (web / "notes.txt").write_text("no", encoding="utf-8")
    (tmp_path / "secret.js").write_text("no", encoding="utf-8")
    return WebPage(web)


@pytest.mark.parametrize(
    ("path", "content_type"),
    [("", "text/html"), ("index.html", "text/html"), ("js/chat.js", "text/javascript")],
)
def test_files_are_served_with_their_type(page: WebPage, path: str, content_type: str) -> None:
    response = page.respond(path)
    assert response is not None
    assert response.status == 200
    assert response.headers["content-type"].startswith(content_type)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("path", ["../secret.js", "js/../../secret.js", "notes.txt", "js", "x"])
def test_nothing_else_is(page: WebPage, path: str) -> None:
    assert page.respond(path) is None


def test_without_a_folder_there_is_no_page(tmp_path: Path) -> None:
    assert WebPage(tmp_path / "none").respond("") is None
