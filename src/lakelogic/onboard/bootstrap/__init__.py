"""Contracts from the files of a landing zone: what the files are, what is in them, and the YAML that says so."""
