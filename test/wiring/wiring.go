// Package wiring validates the Kubernetes objects composed for a claim. It is independent of the composition functions:
// it imports neither them nor any package that decides what they emit, only the reader of option files and the data on
// OpenStack's packages. Each finding is a sentence about something that would not work, or would not be secure, if
// exactly these objects were applied. Tables, each with its source, describe everything that is not emitted: the
// objects that operators create (operated.go), the meaning of names (valuekind.go), and justified exceptions (the tables
// next to the rules).
//
//	for _, finding := range wiring.Check(wiring.Cloud{Objects: objects, Given: []map[string]any{claim, platform}}) { … }
//
// A rule is about kinds of objects and never about a service, so that it also covers future services.
package wiring

import (
	"slices"
)

// A Cloud is the input of Check.
type Cloud struct {
	// Objects are all objects that exist when everything is ready.
	Objects []Object
	// Given are the claim and the PlatformConfig as written by users: they name external hosts, user-provided Secrets
	// and namespaces.
	Given []map[string]any
	// HasTLS reports whether objects of a kind have a field spec.tls, by the kind's schema. Nil: unknown.
	HasTLS func(group, kind string) bool
}

// An Object is one object as Crossplane applies it: bare, or in an Object of provider-kubernetes.
type Object struct {
	// Stage in which it appears.
	Stage int
	// Manifest of the object. Check does not change it.
	Manifest map[string]any
}

// rules are the checks; each finds one kind of error.
var rules = []struct {
	about string
	find  func(*inventory)
}{
	{"secrets", (*inventory).checkSecrets},
	{"pushes", (*inventory).checkPushes},
	{"accounts", (*inventory).checkAccounts},
	{"files", (*inventory).checkFiles},
	{"mounts", (*inventory).checkMounts},
	{"services", (*inventory).checkServices},
	{"addresses", (*inventory).checkAddresses},
	{"monitors", (*inventory).checkMonitors},
	{"routes", (*inventory).checkRoutes},
	{"flows", (*inventory).checkFlows},
	{"tls", (*inventory).checkTLS},
	{"pods", (*inventory).checkPods},
	{"budgets", (*inventory).checkBudgets},
	{"operated", (*inventory).checkOperated},
	{"metrics", (*inventory).checkMetrics},
	{"options", (*inventory).checkOptions},
	{"caches", (*inventory).checkCaches},
	{"provider configs", (*inventory).checkProviderConfigs},
}

// Check returns the findings, sorted and without duplicates.
func Check(c Cloud) []string {
	w := newInventory(c)
	for _, r := range rules {
		r.find(w)
	}
	slices.Sort(w.findings)
	return slices.Compact(w.findings)
}

// Pods returns the findings about the pods of one object.
func Pods(manifest map[string]any) []string {
	w := newInventory(Cloud{Objects: []Object{{Manifest: manifest}}})
	w.checkPods()
	return w.findings
}
