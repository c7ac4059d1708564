"""What the reference is made of: the OpenAPI document, schemas of answers, error codes."""
