"""One vendor a file; vendor types and imports never leave it."""
