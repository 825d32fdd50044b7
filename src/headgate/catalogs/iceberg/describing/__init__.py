"""Tables and views in the model's words: types, columns and layout, made into Iceberg's documents and read from them."""
