"""A tiny package index of real wheels and source archives, on disk and over HTTP."""
