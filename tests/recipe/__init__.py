"""The conda recipe, built for real through a local channel."""
