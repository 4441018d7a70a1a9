"""What ``plugin.py`` hands to conda beyond the subcommand; each module is loaded when conda uses it."""
