"""From the text of a training log to what went wrong, why, and what to do: rules are data, reading is streaming."""
