"""Who gets told: numbers about runs for monitoring systems."""
