"""The securable objects and their tags, and the search for columns that hold personal data."""
