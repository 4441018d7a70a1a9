"""Every engine gives the same answer to the same question, or the difference is listed and explained."""
