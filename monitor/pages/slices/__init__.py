"""Parts of the records beside one another: arms, challenger, segments, versions."""
