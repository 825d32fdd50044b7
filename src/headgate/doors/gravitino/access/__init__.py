"""Who may do what: users, groups, roles, their privileges and the owners of objects."""
