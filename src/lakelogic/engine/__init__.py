"""How rows are computed: one package per engine, chosen by name in `registry`."""
