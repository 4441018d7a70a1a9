"""Looks at an environment with its own Python: starts what is in ``inside``, reads what it prints, ends it in time."""
