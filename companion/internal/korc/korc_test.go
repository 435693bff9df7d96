package korc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/korc"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/korc/korctest"
)

func TestID(t *testing.T) {
	object := func(name, id string) *unstructured.Unstructured { return korctest.Object("User", "cloud", name, id) }
	going := object("going", "g")
	going.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1e9, 0)})
	going.SetFinalizers([]string{"openstack.k-orc.cloud/user"})
	external := object("external", "e")
	external.SetNamespace("other")
	api := fake.NewClientBuilder().WithScheme(faultinjection.NewScheme(korctest.AddToScheme("User"))).WithObjects(object("made", "m"), object("new", ""), going, external).Build()
	fails := func(err error) client.Reader {
		return interceptor.NewClient(api, interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return err
			},
		})
	}
	for name, tc := range map[string]struct {
		reader         client.Reader
		id, waits, err string
	}{
		"made":     {reader: api, id: "m"},
		"new":      {reader: api, waits: "K-ORC has not found or created User new in Keystone yet"},
		"going":    {reader: api, waits: "K-ORC's User going is being deleted"},
		"external": {reader: api, waits: "K-ORC's User external does not exist"},
		"unknown":  {reader: fails(&meta.NoKindMatchError{}), waits: "K-ORC's User unknown does not exist"},
		"broken":   {reader: fails(errors.New("no")), err: "cannot read User broken: no"},
	} {
		id, waiting, err := korc.ID(t.Context(), tc.reader, "User", "cloud", name)
		if id != tc.id || waiting != tc.waits || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
			t.Errorf("%s: %q, %q, %v", name, id, waiting, err)
		}
	}
}
