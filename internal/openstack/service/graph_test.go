package service

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

func noStages(*Service) ([]compose.Stage, error) { return nil, nil }

// TestGraph checks the position and the needs of a service's own components, and that components which the service lacks
// are not needed.
func TestGraph(t *testing.T) {
	own := func(name, before, needed string, needs ...string) ExtraComponent[*Service] {
		return ExtraComponent[*Service]{Component: compose.Component[*Service]{Name: name, Needs: needs, Build: noStages}, Before: before, NeededBy: needed}
	}
	databases := []Database{{Group: "database"}}
	all := &Definition{CatalogType: "example", Module: "example:application", Databases: databases}
	for name, tc := range map[string]struct {
		reason     string
		definition *Definition
		own        []ExtraComponent[*Service]
		want       map[string]string
	}{
		"Plain": {
			"It logs in before it serves, and is in the catalog when it does.", all, nil,
			map[string]string{
				"companion-access": "", "credentials": "", "certificate": "", "database": "credentials",
				"identity": "companion-access credentials", "config": "companion-access credentials", "schema": "database config",
				"api": "schema certificate identity", "exposure": "certificate", "catalog": "api", "monitoring": "",
			},
		},
		"KeepsTheCatalog": {
			"It has neither a user nor a catalog entry.", &Definition{Module: "example:application", Databases: databases}, nil,
			map[string]string{"api": "schema certificate"},
		},
		"Queue": {
			"It has its virtual host before it serves.", &Definition{Module: "example:application", Queue: true, Databases: databases}, nil,
			map[string]string{"api": "schema certificate queue", "queue": "companion-access"},
		},
		"NoAPI": {
			"There is nothing to expose.", &Definition{Queue: true, Databases: databases}, []ExtraComponent[*Service]{own("daemon", "", "", "schema", "queue")},
			map[string]string{"daemon": "schema queue"},
		},
		"Client": {
			"It is only a client of other services: it needs only its configuration, and no companion.",
			&Definition{Module: "example:application"}, nil,
			map[string]string{"credentials": "", "config": "credentials", "api": "config certificate"},
		},
		"Member": {
			"It keeps everything in Keystone, and is in the catalog.", &Definition{CatalogType: "example", Module: "example:application"}, nil,
			map[string]string{"companion-access": "", "config": "companion-access credentials", "api": "config certificate identity"},
		},
		"Between": {
			"Needs that it shares with the API are removed from the API.", all, []ExtraComponent[*Service]{own("bootstrap", "api", "api", "schema")},
			map[string]string{"bootstrap": "schema", "api": "bootstrap certificate identity"},
		},
		"Beside": {
			"It is needed in the order of the graph.", all, []ExtraComponent[*Service]{own("keys", "config", "schema", "companion-access")},
			map[string]string{"schema": "database keys config"},
		},
		"After": {
			"It is an additional need of a later component.", all, []ExtraComponent[*Service]{own("stores", "api", "api")},
			map[string]string{"api": "schema certificate identity stores"},
		},
		"Last": {
			"No component needs it.", all, []ExtraComponent[*Service]{own("chore", "", "", "api")}, map[string]string{"chore": "api"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			graph := Graph(tc.definition, tc.own...)
			got := map[string]string{}
			for _, c := range graph {
				if _, ok := tc.want[c.Name]; ok {
					got[c.Name] = strings.Join(c.Needs, " ")
				}
				if (c.Name == "database" || c.Name == "schema") && len(tc.definition.Databases) == 0 {
					t.Errorf("%s: there is %s", tc.reason, c.Name)
				}
				if (c.Name == "catalog" || c.Name == "identity") && tc.definition.CatalogType == "" {
					t.Errorf("%s: there is %s", tc.reason, c.Name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if last := graph[len(graph)-1].Name; last != "monitoring" {
				t.Errorf("the last is %s", last)
			}
		})
	}
}

// TestGraphReplaces checks that a component with the name of a common one replaces its Build.
func TestGraphReplaces(t *testing.T) {
	built := false
	graph := Graph(&Definition{Module: "example:application", Databases: []Database{{Group: "database"}}}, ExtraComponent[*Service]{Component: compose.Component[*Service]{
		Name: "config", Build: func(*Service) ([]compose.Stage, error) { built = true; return nil, nil },
	}})
	i := find(graph, "config")
	if _, err := graph[i].Build(nil); err != nil || !built || len(graph[i].Needs) != 2 {
		t.Errorf("built: %v, needs %v: %v", built, graph[i].Needs, err)
	}
}

// TestGraphRollsInOrder checks that new versions of a component are rolled out after those of a component with
// RolloutBefore.
func TestGraphRollsInOrder(t *testing.T) {
	graph := Graph(&Definition{Module: "example:application", Databases: []Database{{Group: "database"}}}, ExtraComponent[*Service]{
		Component: compose.Component[*Service]{Name: "daemon", Build: noStages}, Before: "api", RolloutBefore: "api",
	})
	if diff := cmp.Diff([]string{"daemon"}, graph[find(graph, "api")].RolloutAfter); diff != "" {
		t.Errorf("the API rolls after (-want +got):\n%s", diff)
	}
}

// TestGraphPanics checks that an invalid position is detected at the start of the program.
func TestGraphPanics(t *testing.T) {
	for name, own := range map[string]ExtraComponent[*Service]{
		"NoSuchPlace": {Component: compose.Component[*Service]{Name: "a", Build: noStages}, Before: "missing"},
		"TooLate":     {Component: compose.Component[*Service]{Name: "a", Build: noStages}, Before: "api", NeededBy: "schema"},
		"NoSuchNeed":  {Component: compose.Component[*Service]{Name: "a", Build: noStages, Needs: []string{"missing"}}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("got no panic")
				}
			}()
			Graph(&Definition{Module: "example:application", Databases: []Database{{Group: "database"}}}, own)
		})
	}
}
