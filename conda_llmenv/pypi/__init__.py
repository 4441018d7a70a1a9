"""The pip section: pip's configuration, resolution and installation by uv, with pip itself as the fallback."""
