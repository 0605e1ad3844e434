"""What `import monitor` offers: models evaluated on data frames, and what a store keeps, as data frames."""
