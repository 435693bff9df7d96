package invariants

import "maps"

// withoutOperations removes everything from a claim with an external Keystone that only the operator of that Keystone
// configures.
func withoutOperations(spec object) {
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

// keystoneOf returns the Keystone section of a claim.
func keystoneOf(spec object) object {
	services, _ := spec["services"].(object)
	keystone, _ := services["keystone"].(object)
	return keystone
}

// externalServer removes all other settings of an external database or queue from a claim, and separate ones of cells.
func externalServer(spec object, server string) {
	requested := serverOf(spec, server)
	if _, ok := requested["external"]; !ok {
		return
	}
	maps.DeleteFunc(requested, func(field string, _ any) bool { return field != "external" })
	services, _ := spec["services"].(object)
	nova, _ := services["nova"].(object)
	cells, _ := nova["cells"].(list)
	for _, c := range cells {
		cell, _ := c.(object)
		if own, ok := cell["infrastructure"].(object); ok {
			delete(own, server)
		}
	}
}

// serverOf returns the database or queue section of a claim.
func serverOf(spec object, server string) object {
	infrastructure, _ := spec["infrastructure"].(object)
	requested, _ := infrastructure[server].(object)
	return requested
}

// ownQueue removes the settings of an external queue from a service whose control plane has its own queue. External
// queues are drawn in claims.
func ownQueue(queue object) {
	if _, ok := queue["caSecretRef"]; !ok {
		return // It is the section of a queue.
	}
	delete(queue, "connectionSecretRef")
	delete(queue, "sharedAs")
	if _, ok := queue["rabbitMQRef"]; !ok {
		queue["rabbitMQRef"] = object{"name": "rabbitmq"}
	}
}

// externalIn reports which external services a spec has: the subject itself, its Keystone, its queue, its database, or
// the queue of a service.
func externalIn(spec object) [5]bool {
	_, itself := spec["external"]
	_, keystone := keystoneOf(spec)["external"]
	_, queue := serverOf(spec, "rabbitmq")["external"]
	_, mariadb := serverOf(spec, "mariadb")["external"]
	database, _ := spec["database"].(object)
	_, shared := database["sharedAs"]
	return [5]bool{itself, keystone, queue, mariadb, shared}
}
