package apis_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// TestDefinitionNamesNeverChange checks that the names of a definition never change: Crossplane rejects a definition that is installed with
// other names, including an additional short name or category, and therefore the complete package. (The rule self == oldSelf of spec.names
// and spec.claimNames.)
func TestDefinitionNamesNeverChange(t *testing.T) {
	type names = apiextensionsv1.CustomResourceDefinitionNames
	of := func(kind, plural, singular string) names {
		return names{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: singular, Categories: []string{"cobaltcore"}}
	}
	for folder, want := range map[string][]names{
		"controlplane": {
			of("XControlPlaneCluster", "xcontrolplaneclusters", "xcontrolplanecluster"),
			of("ControlPlaneCluster", "controlplaneclusters", "controlplanecluster"),
		},
		"hypervisor": {
			of("XHypervisorCluster", "xhypervisorclusters", "xhypervisorcluster"), of("HypervisorCluster", "hypervisorclusters", "hypervisorcluster"),
		},
		"keystoneservice": {
			of("XKeystoneService", "xkeystoneservices", "xkeystoneservice"), of("KeystoneService", "keystoneservices", "keystoneservice"),
		},
		"cloud": {
			of("XOpenStackCluster", "xopenstackclusters", "xopenstackcluster"), of("OpenStackCluster", "openstackclusters", "openstackcluster"),
		},
		"storage":         {of("XStorageCluster", "xstorageclusters", "xstoragecluster"), of("StorageCluster", "storageclusters", "storagecluster")},
		"keystone":        {of("Keystone", "keystones", "keystone")},
		"workloadcluster": {of("WorkloadCluster", "workloadclusters", "workloadcluster")},
		"catalog":         {of("IdentityCatalog", "identitycatalogs", "identitycatalog")},
	} {
		doc, err := apis.Definition(folder)
		if err != nil {
			t.Fatal(err)
		}
		xrd, err := schema.ParseXRD(doc)
		if err != nil {
			t.Fatal(err)
		}
		got := []names{xrd.Spec.Names}
		if xrd.Spec.ClaimNames != nil {
			got = append(got, *xrd.Spec.ClaimNames)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -installed, +now:\n%s", folder, diff)
		}
	}
}
