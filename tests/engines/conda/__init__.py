"""What of the conda engine can be seen without conda."""
