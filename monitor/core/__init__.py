"""Values that every layer may use."""
