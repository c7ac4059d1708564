"""The feature store: columns, writer, and reader."""
