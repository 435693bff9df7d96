package guide

import (
	"testing"
)

const root = "../../.."

// TestTable checks that the table has each command of tutorials and how-to guides, and nothing else.
func TestTable(t *testing.T) {
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]int{}
	for _, p := range pages {
		for _, b := range p.Blocks {
			for _, c := range p.Commands(b) {
				e, err := table.Place(c)
				if err != nil {
					t.Error(err)
				}
				places[e.In]++
			}
		}
	}
	for _, problem := range table.Unused() {
		t.Error(problem)
	}
	t.Log(places)
	if places[Platform] < 100 || places[OpenStack] < 20 {
		t.Errorf("found only these commands: %v", places)
	}
}
