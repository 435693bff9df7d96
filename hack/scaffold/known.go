package main

// knownServices contains the type in Keystone's catalog and the default port of services that may be added. Types:
// https://service-types.openstack.org/service-types.json; ports: the installation guide of each service.
var knownServices = map[string]service{
	"aodh":       {serviceType: "alarm", port: 8042},
	"blazar":     {serviceType: "reservation", port: 1234},
	"cloudkitty": {serviceType: "rating", port: 8889},
	"designate":  {serviceType: "dns", port: 9001},
	"ironic":     {serviceType: "baremetal", port: 6385},
	"magnum":     {serviceType: "container-infrastructure-management", port: 9511},
	"manila":     {serviceType: "shared-file-system", port: 8786},
	"masakari":   {serviceType: "instance-ha", port: 15868},
	"mistral":    {serviceType: "workflow", port: 8989},
	"octavia":    {serviceType: "load-balancer", port: 9876},
	"trove":      {serviceType: "database", port: 8779},
	"watcher":    {serviceType: "resource-optimization", port: 9322},
	"zun":        {serviceType: "application-container", port: 9517},
}
