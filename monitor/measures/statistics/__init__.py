"""Statistics that several families share: intervals, resamples, roots, ranked scores, moments."""
