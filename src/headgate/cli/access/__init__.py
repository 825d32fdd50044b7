"""Who may do what: users, groups, roles, grants, owners and tokens. `operator` opens the store itself, for whoever runs the server."""
