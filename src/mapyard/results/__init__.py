"""What every list answer shares: feature JSON, output options, pages and cursors, streams."""
