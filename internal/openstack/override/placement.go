package override

// Owners of options in placement.conf
// (https://docs.openstack.org/placement/latest/configuration/config.html).
var _ = add("placement", table{
	"DEFAULT": {
		"pybasedir":  reserved(files),
		"state_path": reserved(files),
		"tempdir":    reserved(files),
	},
	"api": {"auth_strategy": reserved("tokens are always required")},
	"placement_database": {
		"connection_debug":      reserved(loggedRows),
		"connection_parameters": reserved(databaseURL),
		"sync_on_startup":       reserved("Jobs create and upgrade the schema, one at a time, not each pod"),
	},
}, client, everyService)
