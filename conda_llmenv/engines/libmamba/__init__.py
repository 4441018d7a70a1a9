"""mamba's solver as an engine, through libmambapy 2; downloading and linking stay with the embedded engine."""
