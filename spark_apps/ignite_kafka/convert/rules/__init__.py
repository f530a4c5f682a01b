"""Rules that hold for both directions: decimals, their scales, and value types. Imports ignite.types and settings."""
