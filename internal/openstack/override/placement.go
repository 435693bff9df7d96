package override

// placement is placement.conf (https://docs.openstack.org/placement/latest/configuration/config.html).
var placement = table{
	"DEFAULT": {
		"pybasedir":  ours(files),
		"state_path": ours(files),
		"tempdir":    ours(files),
	},
	"api": {"auth_strategy": ours("without it, nobody would be asked for a token")},
	"placement_database": {
		"connection_parameters": ours(databaseURL),
		"sync_on_startup":       ours("the schema is made and upgraded by Jobs, one at a time, and not by each pod"),
	},
}
