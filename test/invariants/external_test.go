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

// externalServer lets a claim whose database or queue somebody else runs say nothing else of it, nor a cell have one to itself.
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

// serverOf is what a claim says of its database or its queue.
func serverOf(spec object, server string) object {
	infrastructure, _ := spec["infrastructure"].(object)
	requested, _ := infrastructure[server].(object)
	return requested
}

// ownQueue is what a service is told of a queue of the control plane's own. That of somebody else is drawn in claims.
func ownQueue(queue object) {
	if _, ok := queue["caSecretRef"]; !ok {
		return // It is the order of one.
	}
	delete(queue, "connectionSecretRef")
	delete(queue, "sharedAs")
	if _, ok := queue["rabbitMQRef"]; !ok {
		queue["rabbitMQRef"] = object{"name": "rabbitmq"}
	}
}

// externalIn says what somebody else runs of a spec: what it is of, its Keystone, its queue, its database, or that of a service.
func externalIn(spec object) [5]bool {
	_, itself := spec["external"]
	_, keystone := keystoneOf(spec)["external"]
	_, queue := serverOf(spec, "rabbitmq")["external"]
	_, mariadb := serverOf(spec, "mariadb")["external"]
	database, _ := spec["database"].(object)
	_, shared := database["sharedAs"]
	return [5]bool{itself, keystone, queue, mariadb, shared}
}
