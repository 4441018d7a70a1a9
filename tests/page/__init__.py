"""Tests of the report page, pure and in a real browser."""
