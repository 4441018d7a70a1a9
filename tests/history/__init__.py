"""Reports on disk."""
