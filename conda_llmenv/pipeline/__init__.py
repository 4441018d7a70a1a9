"""Use-cases: each takes what to do and the ports to do it with, returns models, and prints nothing."""
