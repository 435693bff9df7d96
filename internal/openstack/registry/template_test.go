package registry

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWith checks that a group named by an administrator has the options of its template, and that errors contain its name.
func TestWith(t *testing.T) {
	stores := []Group{{Name: "rbd1", Template: "rbd"}, {Name: "Fast", Template: "rbd"}, {Name: "archive", Template: "s3"}}
	for name, c := range map[string]struct {
		reason, release, group, option string
		value                          any
		want                           string
	}{
		"Known":   {"The driver has this option.", "2025.2", "rbd1", "rbd_store_chunk_size", 8.0, ""},
		"Value":   {"Values are checked.", "2025.2", "rbd1", "rbd_store_chunk_size", 0.0, "[rbd1] rbd_store_chunk_size must be a whole number of at least 1, but \"0\" is not"},
		"Case":    {"A file's groups are read in lower case.", "2025.2", "FAST", "rbd_store_chunk_size", 8.0, ""},
		"Driver":  {"Another driver's option is none.", "2025.2", "archive", "rbd_store_chunk_size", 8.0, "glance 2025.2 has no option rbd_store_chunk_size in the group [archive]"},
		"Unnamed": {"The group was not added.", "2025.2", "rbd2", "rbd_store_chunk_size", 8.0, "glance 2025.2 has no group [rbd2]"},
		"Newer":   {"Releases differ in a driver's options, too.", "2025.2", "archive", "s3_store_enable_data_integrity_protection", true, "it is new in 2026.1"},
		"Later":   {"And the later has it.", "2026.1", "archive", "s3_store_enable_data_integrity_protection", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := of(t, "glance", c.release).With(stores...)
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.CheckOption(c.group, c.option, c.value)
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s\ngot %v, want %q", c.reason, err, c.want)
			}
		})
	}
}

// TestWithRejectsAmbiguousGroups checks that groups cannot be ambiguous.
func TestWithRejectsAmbiguousGroups(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		groups []Group
		want   string
	}{
		"Template": {"The driver does not exist.", []Group{{"a", "floppy"}}, `glance 2025.2 has no options of "floppy"; known templates are file, http, rbd, s3, swift, vmware`},
		"Own":      {"The service has a group of this name.", []Group{{"Keystone_AuthToken", "rbd"}}, "has a group [keystone_authtoken] already"},
		"Default":  {"Its options apply to all groups.", []Group{{"default", "rbd"}}, "uses group [default] itself"},
		"Release":  {"Another release has this group.", []Group{{"oslo_middleware_tracing", "rbd"}}, "uses group [oslo_middleware_tracing] itself"},
		"Twice":    {"Two stores have two names.", []Group{{"a", "rbd"}, {"A", "s3"}}, "has a group [a] already"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := of(t, "glance", "2025.2").With(c.groups...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s\ngot %v, want %q", c.reason, err, c.want)
			}
		})
	}
}

// TestWithLeavesAlone checks that With does not change the shared registry.
func TestWithLeavesAlone(t *testing.T) {
	r := of(t, "glance", "2025.2")
	before := r.Groups()
	more, err := r.With(Group{"a", "rbd"}, Group{"b", "rbd"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, r.Groups()); diff != "" || slices.Contains(before, "a") {
		t.Errorf("-before +after:\n%s", diff)
	}
	for _, group := range []string{"a", "b"} {
		o := more.Lookup(group, "rbd_store_pool")
		if len(o) != 1 || o[0].Group != group {
			t.Errorf("[%s]: %+v", group, o)
		}
	}
	if same, err := r.With(); err != nil || same != r {
		t.Errorf("nothing more: %v", err)
	}
}

// TestTemplateFormerNames checks that former names of a driver's option work within its own group.
func TestTemplateFormerNames(t *testing.T) {
	r := &Registry{
		Service: "glance", groups: map[string]map[string]*Option{}, renamed: map[string]map[string][]*Option{},
		templates: map[string]map[string]*Option{"rbd": {"new": {Name: "new", Deprecated: []Name{{"rbd", "old"}, {"DEFAULT", "older"}}}}},
	}
	more, err := r.With(Group{"a", "rbd"}, Group{"b", "rbd"})
	if err != nil {
		t.Fatal(err)
	}
	if got := more.Lookup("b", "old"); len(got) != 1 || got[0].name() != (Name{"b", "new"}) {
		t.Errorf("a former name in another group: %+v", got)
	}
	if got := more.Lookup("DEFAULT", "older"); len(got) != 0 {
		t.Errorf("a name that all instances share stands for none: %+v", got)
	}
}
