package service

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// TestCheckGraph tests that each component that a definition requires, and each need of a common component, is noticed if a
// graph lacks it, and that unsupported components are rejected.
func TestCheckGraph(t *testing.T) {
	without := func(names ...string) compose.Graph[*Service] {
		graph := slices.DeleteFunc(slices.Clone(exampleGraph), func(c compose.Component[*Service]) bool { return slices.Contains(names, c.Name) })
		for i := range graph {
			graph[i].Needs = slices.DeleteFunc(slices.Clone(graph[i].Needs), func(n string) bool { return slices.Contains(names, n) })
		}
		return graph
	}
	withNeeds := func(name string, needs ...string) compose.Graph[*Service] {
		graph := slices.Clone(exampleGraph)
		graph[find(graph, name)].Needs = needs
		return graph
	}
	withQueue := func(d Definition) *Definition { d.Queue = true; return &d }
	withLogin := func(d Definition) *Definition {
		d.Databases = []Database{{Schema: Schema{Logins: []string{"placement"}}}}
		return &d
	}
	for name, tc := range map[string]struct {
		reason     string
		definition *Definition
		graph      compose.Graph[*Service]
		want       []string
	}{
		"complete": {"It has all components and needs.", &example, exampleGraph, nil},
		"client": {"It is only a client of other services.", &Definition{Module: "example"}, compose.Graph[*Service]{
			Credentials[*Service](), Certificate[*Service](), Config[*Service]("credentials"), API[*Service]([]string{"config", "certificate"}),
			Exposure[*Service]("certificate"), Alerts[*Service](),
		}, nil},
		"no alerts": {"Every service has alerts.", &example, without("monitoring"), []string{
			`component "monitoring": required for every service; add it to the graph`,
		}},
		"no access": {"The companion processes its DatabaseSyncs.", &example, without("companion-access"), []string{
			`component "companion-access": required for objects of the companion; add it to the graph`,
		}},
		"no queue": {"It cannot reach its queue.", withQueue(example), exampleGraph, []string{
			`component "queue": required for Queue; add it to the graph`,
		}},
		"no schema": {"Its database would stay empty.", &example, without("schema"), []string{
			`component "schema": required for Databases; add it to the graph`, `component "api": requires "config"; add it to its needs`,
		}},
		"no user": {"It cannot log in.", &example, without("identity"), []string{
			`component "identity": required for CatalogType; add it to the graph`,
		}},
		"no API": {"Its pods are missing.", &example, without("api"), []string{`component "api": required for Module; add it to the graph`}},
		"other user": {"It has no catalog entry.", &Definition{Module: "example", Databases: example.Databases}, exampleGraph, []string{
			`component "identity": requires CatalogType in the definition; remove it from the graph`,
			`component "catalog": requires CatalogType in the definition; remove it from the graph`,
		}},
		"early pods": {"Pods would start without a database.", &example, withNeeds("api", "certificate", "identity"), []string{
			`component "api": requires "schema"; add it to its needs`,
			`component "api": requires "config"; add it to its needs`,
		}},
		"early entry": {"Clients would find an API that does not run.", &example, withNeeds("catalog"), []string{
			`component "catalog": requires "api"; add it to its needs`,
		}},
		"indirect need": {"The schema needs the configuration.", &example, withNeeds("api", "identity", "certificate", "schema"), nil},
		"check without login": {"The upgrade check logs in.", withLogin(example), exampleGraph, []string{
			`component "schema": requires "identity"; add it to its needs`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			if err := CheckGraph(tc.definition, tc.graph); err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestGraphRollsInOrder tests that new versions of the API are rolled out after new versions of the named components.
func TestGraphRollsInOrder(t *testing.T) {
	if diff := cmp.Diff([]string{"daemon"}, API[*Service](nil, "daemon").RolloutAfter); diff != "" {
		t.Errorf("the API rolls after (-want +got):\n%s", diff)
	}
}

// TestGraphPanicsIfMalformed tests that a graph that is not well formed is detected at the start of the program.
func TestGraphPanicsIfMalformed(t *testing.T) {
	for name, c := range map[string]compose.Component[*Service]{
		"no such need": Config[*Service]("missing"),
		"no builder":   {Name: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("got no panic")
				}
			}()
			Graph(compose.Graph[*Service]{c})
		})
	}
}
