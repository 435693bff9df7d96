package pages

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// kindList is the page with the list of kinds, from which hack/site/hooks.py makes the group Kinds of the navigation.
const kindList = "docs/reference/README.md"

// kindRow matches a row of the list, as hack/site/hooks.py does: the kind, its page and its creator.
var kindRow = regexp.MustCompile(`(?m)^\| \[(\w+)\]\(([^)]+)\) \| ([^|]+) \|`)

// creators are the creators of kinds by form. hack/site/hooks.py selects the part of the group by creator.
var creators = map[kindregistry.Form]string{
	kindregistry.Claimed:  "a tenant",
	kindregistry.Composed: "a ControlPlaneCluster",
	kindregistry.Platform: "the platform team",
}

// kindErrors returns the kinds without a page in the navigation. A kind of the form Namespaced is on the page of its claim.
func kindErrors(kinds []kindregistry.Kind, pages map[string]string, navigation string) []string {
	var out []string
	if !strings.Contains(navigation, "\n  - Kinds: []") {
		out = append(out, "mkdocs.yml has no empty group Kinds, which hack/site/hooks.py fills")
	}
	type row struct{ page, creator string }
	rows := map[string]row{}
	for _, m := range kindRow.FindAllStringSubmatch(pages[kindList], -1) {
		rows[m[1]] = row{m[2], m[3]}
	}
	for _, k := range kinds {
		if k.Form == kindregistry.Namespaced {
			continue
		}
		r, exists := rows[k.Kind]
		delete(rows, k.Kind)
		_, written := pages["docs/reference/"+r.page]
		creator, derived := creators[k.Form]
		switch {
		case !exists:
			out = append(out, k.Kind+" is not in "+kindList+"; run make generate")
		case !written:
			out = append(out, k.Kind+" has no page docs/reference/"+r.page+"; run make generate")
		case derived && r.creator != creator:
			out = append(out, k.Kind+" is created by "+creator+", and not by "+r.creator)
		case strings.Contains(navigation, " reference/"+r.page):
			out = append(out, k.Kind+" is listed in mkdocs.yml; remove it, hack/site/hooks.py adds it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, name+" is in "+kindList+" and not in internal/kindregistry")
	}
	return out
}

// TestNavigationHasAllKinds checks that the group Kinds of the navigation, which is made from the list of kinds, has the page of each kind.
func TestNavigationHasAllKinds(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "mkdocs.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range kindErrors(kindregistry.All(), readPages(t), string(data)) {
		t.Error(problem)
	}
}

func TestKindErrors(t *testing.T) {
	const (
		navigation = "nav:\n- Reference:\n  - Kinds: []\n"
		list       = "| Kind | Created by | Description |\n|---|---|---|\n"
		nova       = "| [Nova](nova.md) | a ControlPlaneCluster | A Nova. |\n"
	)
	kind := func(name string, form kindregistry.Form) kindregistry.Kind {
		return kindregistry.Kind{GroupVersionKind: schema.GroupVersionKind{Kind: name}, Form: form}
	}
	kinds := []kindregistry.Kind{kind("Nova", kindregistry.Composed), kind("Pool", kindregistry.Namespaced)}
	for name, tc := range map[string]struct {
		reason, rows, navigation string
		pages                    []string
		want                     []string
	}{
		"complete": {reason: "The namespaced form of a claim has no page.", rows: nova, navigation: navigation, pages: []string{"nova.md"}},
		"no row": {
			reason: "A new kind is not generated.", navigation: navigation, pages: []string{"nova.md"},
			want: []string{"Nova is not in docs/reference/README.md; run make generate"},
		},
		"no page": {
			reason: "mkdocs has no page to show.", rows: nova, navigation: navigation,
			want: []string{"Nova has no page docs/reference/nova.md; run make generate"},
		},
		"creator": {
			reason: "Its group would be another one.", rows: "| [Nova](nova.md) | a tenant | A Nova. |\n", navigation: navigation,
			pages: []string{"nova.md"}, want: []string{"Nova is created by a ControlPlaneCluster, and not by a tenant"},
		},
		"listed": {
			reason: "It would be in the navigation twice.", rows: nova, navigation: navigation + "  - Nova: reference/nova.md\n",
			pages: []string{"nova.md"}, want: []string{"Nova is listed in mkdocs.yml; remove it, hack/site/hooks.py adds it"},
		},
		"no group": {
			reason: "The hook finds no place for kinds.", rows: nova, navigation: "nav:\n", pages: []string{"nova.md"},
			want: []string{"mkdocs.yml has no empty group Kinds, which hack/site/hooks.py fills"},
		},
		"removed kind": {
			reason: "The list was not generated again.", rows: nova + "| [Trove](trove.md) | a ControlPlaneCluster | A Trove. |\n",
			navigation: navigation, pages: []string{"nova.md", "trove.md"},
			want: []string{"Trove is in docs/reference/README.md and not in internal/kindregistry"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pages := map[string]string{kindList: list + tc.rows}
			for _, page := range tc.pages {
				pages["docs/reference/"+page] = ""
			}
			if diff := cmp.Diff(tc.want, kindErrors(kinds, pages, tc.navigation)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
