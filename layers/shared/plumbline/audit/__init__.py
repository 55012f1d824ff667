"""The auditor: pure but for health."""
