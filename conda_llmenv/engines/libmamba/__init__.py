"""The engine that solves with libmambapy, in a process of its own, and installs with the embedded engine."""
