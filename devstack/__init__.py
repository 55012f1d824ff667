"""Plumbline on one machine: the whole bundle with no account and no key; not deployed."""
