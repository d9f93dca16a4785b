"""Makes the types that cross HTTP, in each language, of docs/reference/openapi.yaml. tools/types runs it."""
