"""A repository becomes records."""
