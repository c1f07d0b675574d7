"""Random but meaningful scheduling cases, a module for each subject."""
