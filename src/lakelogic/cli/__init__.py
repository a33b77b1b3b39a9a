"""Arguments in, text or JSON out."""
