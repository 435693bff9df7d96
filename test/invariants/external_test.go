package invariants

import "maps"

// elsewhere lets a claim whose Keystone somebody else runs say nothing of it, nor have anything of it done, that is up to whoever runs it.
func elsewhere(spec object) {
	keystone := keystoneOf(spec)
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

// keystoneOf is what a claim says of its Keystone.
func keystoneOf(spec object) object {
	services, _ := spec["services"].(object)
	keystone, _ := services["keystone"].(object)
	return keystone
}

// isElsewhere reports whether somebody else runs what a spec is of, or its Keystone.
func isElsewhere(spec object) bool {
	_, itself := spec["external"]
	_, keystone := keystoneOf(spec)["external"]
	return itself || keystone
}
