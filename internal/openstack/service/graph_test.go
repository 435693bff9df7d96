package service

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

func nothing(*Service) ([]compose.Stage, error) { return nil, nil }

// TestGraph: what a service has of its own stands where it belongs, and nobody needs what its graph lacks.
func TestGraph(t *testing.T) {
	own := func(name, before, needed string, needs ...string) ExtraComponent[*Service] {
		return ExtraComponent[*Service]{Component: compose.Component[*Service]{Name: name, Needs: needs, Build: nothing}, Before: before, NeededBy: needed}
	}
	kept := []Database{{Group: "database"}}
	all := &Definition{CatalogType: "example", Module: "example:application", Databases: kept}
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
			"There is neither a user nor an entry.", &Definition{Module: "example:application", Databases: kept}, nil,
			map[string]string{"api": "schema certificate"},
		},
		"Queue": {
			"It has its virtual host before it serves.", &Definition{Module: "example:application", Queue: true, Databases: kept}, nil,
			map[string]string{"api": "schema certificate queue", "queue": "companion-access"},
		},
		"NoAPI": {
			"There is nothing to expose.", &Definition{Queue: true, Databases: kept}, []ExtraComponent[*Service]{own("daemon", "", "", "schema", "queue")},
			map[string]string{"daemon": "schema queue"},
		},
		"Client": {
			"It is a client of the others alone: there is nothing for the companion to do, and nothing to wait for but its configuration.",
			&Definition{Module: "example:application"}, nil,
			map[string]string{"credentials": "", "config": "credentials", "api": "config certificate"},
		},
		"Member": {
			"It keeps everything in Keystone, and is in the catalog.", &Definition{CatalogType: "example", Module: "example:application"}, nil,
			map[string]string{"companion-access": "", "config": "companion-access credentials", "api": "config certificate identity"},
		},
		"Between": {
			"What it needs is left to it.", all, []ExtraComponent[*Service]{own("bootstrap", "api", "api", "schema")},
			map[string]string{"bootstrap": "schema", "api": "bootstrap certificate identity"},
		},
		"Beside": {
			"It is needed in the order of the graph.", all, []ExtraComponent[*Service]{own("keys", "config", "schema", "companion-access")},
			map[string]string{"schema": "database keys config"},
		},
		"After": {
			"It is needed besides, by who comes later.", all, []ExtraComponent[*Service]{own("stores", "api", "api")},
			map[string]string{"api": "schema certificate identity stores"},
		},
		"Last": {
			"Nobody needs it.", all, []ExtraComponent[*Service]{own("chore", "", "", "api")}, map[string]string{"chore": "api"},
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

// TestGraphReplaces: a component of the same name is built in the place of that which all have.
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

// TestGraphRollsInOrder: a component's new versions come after those of one that is declared ahead of it.
func TestGraphRollsInOrder(t *testing.T) {
	graph := Graph(&Definition{Module: "example:application", Databases: []Database{{Group: "database"}}}, ExtraComponent[*Service]{
		Component: compose.Component[*Service]{Name: "daemon", Build: nothing}, Before: "api", RolloutBefore: "api",
	})
	if diff := cmp.Diff([]string{"daemon"}, graph[find(graph, "api")].RolloutAfter); diff != "" {
		t.Errorf("the API rolls after (-want +got):\n%s", diff)
	}
}

// TestGraphPanics: a place that there is not is found at the start of the program.
func TestGraphPanics(t *testing.T) {
	for name, own := range map[string]ExtraComponent[*Service]{
		"NoSuchPlace": {Component: compose.Component[*Service]{Name: "a", Build: nothing}, Before: "nothing"},
		"TooLate":     {Component: compose.Component[*Service]{Name: "a", Build: nothing}, Before: "api", NeededBy: "schema"},
		"NoSuchNeed":  {Component: compose.Component[*Service]{Name: "a", Build: nothing, Needs: []string{"nothing"}}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("nobody notices")
				}
			}()
			Graph(&Definition{Module: "example:application", Databases: []Database{{Group: "database"}}}, own)
		})
	}
}
