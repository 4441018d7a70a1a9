"""What of the libmamba engine needs no libmambapy: specs, candidates, explanations, and a library that breaks."""
