"""Tests of the packaged fragments, tiers and recipes: what people compose."""
