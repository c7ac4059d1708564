"""Feature filters, spatial predicates and name search."""
