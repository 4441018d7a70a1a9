"""conda itself as an engine: its configured solver and its transaction, inside its own process."""
