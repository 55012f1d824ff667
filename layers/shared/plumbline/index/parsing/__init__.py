"""Source text becomes entities."""
