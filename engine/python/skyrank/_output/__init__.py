"""Forms of answers: columns as arrays, and tables for people."""
