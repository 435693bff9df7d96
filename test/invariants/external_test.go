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

// queueElsewhere is the same of a queue: of one that somebody else runs a claim says nothing else, nor has a cell one to itself.
func queueElsewhere(spec object) {
	queue := queueOf(spec)
	external, ok := queue["external"].(object)
	if !ok {
		return
	}
	maps.DeleteFunc(queue, func(field string, _ any) bool { return field != "external" })
	external["host"] = "queue.example.com"
	services, _ := spec["services"].(object)
	nova, _ := services["nova"].(object)
	cells, _ := nova["cells"].(list)
	for _, c := range cells {
		cell, _ := c.(object)
		if own, ok := cell["infrastructure"].(object); ok {
			delete(own, "rabbitmq")
		}
	}
}

// queueOf is what a claim says of its queue.
func queueOf(spec object) object {
	infrastructure, _ := spec["infrastructure"].(object)
	queue, _ := infrastructure["rabbitmq"].(object)
	return queue
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

// elsewhereIn are what somebody else runs: what a spec is of, its Keystone, its queue.
func elsewhereIn(spec object) [3]bool {
	_, itself := spec["external"]
	_, keystone := keystoneOf(spec)["external"]
	_, queue := queueOf(spec)["external"]
	return [3]bool{itself, keystone, queue}
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
