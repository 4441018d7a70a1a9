"""What runs in other Pythons, from 3.8 on: by itself, without this package."""
