package korc_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// TestObjectsMatchReviewedManifests compares complete K-ORC objects.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	credentials := korc.Credentials{SecretName: "clouds", CloudName: "admin"}
	meta := object.Meta{Name: "admin", Namespace: "cloud"}
	objecttest.Run(t, map[string]objecttest.Case{
		"objects": {
			Reason: "Imported resources are not changed; managed resources stay in Keystone after deletion of their object.",
			Got: []runtime.Object{
				credentials.Import("User", meta, object.Map{"name": "admin"}), credentials.Managed("Project", meta, object.Map{"name": "service"}),
			},
			Want: `
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: User
metadata:
  name: admin
  namespace: cloud
spec:
  cloudCredentialsRef:
    cloudName: admin
    secretName: clouds
  import:
    filter:
      name: admin
  managementPolicy: unmanaged
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Project
metadata:
  name: admin
  namespace: cloud
spec:
  cloudCredentialsRef:
    cloudName: admin
    secretName: clouds
  managedOptions:
    onDelete: detach
  managementPolicy: managed
  resource:
    name: service
`,
		},
	})
}
