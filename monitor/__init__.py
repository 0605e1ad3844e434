"""Post-deployment model monitoring."""
