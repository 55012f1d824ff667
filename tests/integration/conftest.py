"""The embedded stack, for tests that go through the real handlers and over real HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.client import Client
from devstack.indexing import index_repository
from devstack.stack import API_KEY, Stack

SHOP = '''"""The shop's cart."""


class Cart:
    """Holds what a customer is about to buy."""

    def add_item(self, sku: str, amount: int = 1) -> None:
        """Put an article into the cart, or raise its amount."""
        self.items[sku] = self.items.get(sku, 0) + amount


def checkout_total(cart: Cart) -> int:
    """Sum the cart in cents, taxes included."""
    return sum(cart.items.values())
'''
GUIDE = """# Cart guide

The cart keeps articles until checkout.

## Deployment

Deploy the cart service with one command. The rollout takes five minutes.
"""


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """A running stack with one small repository, ``local/shop``, in its index."""
    many = {"TURN_RATE_LIMIT_PER_MINUTE": "10000", "RATE_LIMIT_PER_MINUTE": "10000"}
    with Stack({**os.environ, **many, "LOG_LEVEL": "CRITICAL"}) as running:
        yield running


@pytest.fixture(scope="module")
def shop(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The stack with the repository indexed."""
    folder = tmp_path_factory.mktemp("work") / "shop"
    (folder / "docs").mkdir(parents=True)
    Path(folder, "cart.py").write_text(SHOP, encoding="utf-8")
    Path(folder, "docs", "guide.md").write_text(GUIDE, encoding="utf-8")
    index_repository(Client(stack.url, API_KEY), str(folder), stack.environment)
    return stack
