"""Windows: unions of panes, when they end, and whether their labels are in. Pure."""
