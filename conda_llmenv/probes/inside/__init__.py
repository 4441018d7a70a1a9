"""Runs inside the environment that is looked at: its own Python (3.8 or newer), its own packages, nothing of ours.

``entry.py`` is started as a script and makes this folder a package of its own name, so these modules import one another
relatively and must never import anything else of llmenv.
"""
