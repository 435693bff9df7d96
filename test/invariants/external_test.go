package invariants

import "maps"

// elsewhere lets a claim whose Keystone somebody else runs say nothing of it, nor have anything of it done, that is up to whoever runs it.
func elsewhere(spec object) {
	services, _ := spec["services"].(object)
	keystone, _ := services["keystone"].(object)
	if _, ok := keystone["external"]; !ok {
		return
	}
	maps.DeleteFunc(keystone, func(field string, _ any) bool { return field != "external" && field != "enabled" })
	global, ok := spec["global"].(object)
	if !ok {
		global = object{}
		spec["global"] = global
	}
	global["region"] = "eu-de-2"
	if korc, ok := spec["korc"].(object); ok {
		delete(korc, "bootstrapResources")
	}
	delete(spec, "tempest")
	delete(spec, "keystoneServices")
}
