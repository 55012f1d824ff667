"""One chat turn, in the order it runs."""
