"""The life of a prefix: where it goes, who works on it, all-or-nothing changes, and what is written inside it."""
