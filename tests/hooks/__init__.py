"""What conda is handed beyond the subcommand."""
