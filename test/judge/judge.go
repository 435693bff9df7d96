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
	find  func(*world)
}{
	{"secrets", (*world).checkSecrets},
	{"pushes", (*world).checkPushes},
	{"accounts", (*world).checkAccounts},
	{"files", (*world).checkFiles},
	{"services", (*world).checkServices},
	{"addresses", (*world).checkAddresses},
	{"monitors", (*world).checkMonitors},
	{"routes", (*world).checkRoutes},
	{"flows", (*world).checkFlows},
	{"tls", (*world).checkTLS},
	{"pods", (*world).checkPods},
	{"budgets", (*world).checkBudgets},
	{"operated", (*world).checkOperated},
	{"metrics", (*world).checkMetrics},
	{"options", (*world).checkOptions},
}

// Judge says what is wrong, each finding once, in order.
func Judge(c Cloud) []string {
	w := newWorld(c)
	for _, r := range rules {
		r.find(w)
	}
	slices.Sort(w.findings)
	return slices.Compact(w.findings)
}

// Pods says what is wrong with the pods of one object.
func Pods(manifest map[string]any) []string {
	w := newWorld(Cloud{Objects: []Object{{Manifest: manifest}}})
	w.checkPods()
	return w.findings
}
