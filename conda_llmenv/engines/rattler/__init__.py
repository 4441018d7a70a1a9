"""The embedded engine: py-rattler, in this process; one module each for what it is asked and what it answers."""
