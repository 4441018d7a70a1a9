"""What is sent to the other host and run by the environment's own Python (3.8 or later); standard library only."""
