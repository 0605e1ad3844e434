"""What happened: days judged against what the last eight weeks lead one to expect. Pure."""
