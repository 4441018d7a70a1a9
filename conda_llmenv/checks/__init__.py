"""The validation ladder: what is checked, and what an observation comes to. Pure: probes look, this judges."""
