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

// borrowed lets a claim whose database somebody else runs say nothing of how it runs, nor a cell have one like it.
func borrowed(spec object) {
	mariadb := mariadbOf(spec)
	if _, ok := mariadb["external"]; !ok {
		return
	}
	maps.DeleteFunc(mariadb, func(field string, _ any) bool { return field != "external" })
	services, _ := spec["services"].(object)
	nova, _ := services["nova"].(object)
	cells, _ := nova["cells"].(list)
	for _, c := range cells {
		cell, _ := c.(object)
		if own, ok := cell["infrastructure"].(object); ok {
			delete(own, "mariadb")
		}
	}
}

// mariadbOf is what a claim says of its database.
func mariadbOf(spec object) object {
	infrastructure, _ := spec["infrastructure"].(object)
	mariadb, _ := infrastructure["mariadb"].(object)
	return mariadb
}

// isBorrowed reports whether somebody else runs the database of a claim, or that of a service.
func isBorrowed(spec object) bool {
	_, claimed := mariadbOf(spec)["external"]
	database, _ := spec["database"].(object)
	_, told := database["sharedAs"]
	return claimed || told
}
