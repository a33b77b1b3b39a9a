"""How contracts start: scaffolds and set-up."""
