// Package judge reads the Kubernetes objects that a claim becomes, and nothing else of ours: it imports neither the functions nor any
// package that decides what they emit, only the reader of option files and the data on OpenStack's packages. It says in sentences what
// would not work, or would not be safe, if exactly these objects were applied. Whatever is not emitted is told by tables, each with its
// source: what operators make of their objects (operated.go), what names mean (meaning.go), who has a reason to be different (the tables
// beside the rules).
//
//	for _, finding := range judge.Judge(judge.Cloud{Objects: objects, Given: []map[string]any{claim, platform}}) { … }
//
// A rule is about kinds of objects and never about a service, so that those of a service to come are judged without a line about it.
package judge

import (
	"slices"
)

// A Cloud is what is judged.
type Cloud struct {
	// Objects are all that are there when everything is ready.
	Objects []Object
	// Given are the claim and the PlatformConfig as people wrote them: they name hosts outside, Secrets of their own and namespaces.
	Given []map[string]any
	// HasTLS reports whether objects of a kind have a field spec.tls, by the kind's schema. Nil: nobody knows.
	HasTLS func(group, kind string) bool
}

// An Object is one object as Crossplane applies it: bare, or in an Object of provider-kubernetes.
type Object struct {
	// Stage in which it appears.
	Stage int
	// Manifest of the object. The judge does not change it.
	Manifest map[string]any
}

// rules find what is wrong, each in one way.
var rules = []struct {
	about string
	find  func(*inventory)
}{
	{"secrets", (*inventory).checkSecrets},
	{"pushes", (*inventory).checkPushes},
	{"accounts", (*inventory).checkAccounts},
	{"files", (*inventory).checkFiles},
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
}

// Judge says what is wrong, each finding once, in order.
func Judge(c Cloud) []string {
	w := newInventory(c)
	for _, r := range rules {
		r.find(w)
	}
	slices.Sort(w.findings)
	return slices.Compact(w.findings)
}

// Pods says what is wrong with the pods of one object.
func Pods(manifest map[string]any) []string {
	w := newInventory(Cloud{Objects: []Object{{Manifest: manifest}}})
	w.checkPods()
	return w.findings
}
