//go:build node && linux

package node_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

var maxScaleKind = schema.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "MaxScale"}

// TestMediumClaimIsAccepted checks that MariaDB's operator accepts the objects of size medium. MaxScale itself does not run, because
// it has no image: the objects that its operator creates without one exist, including certificates that clients verify
// by the CA of MariaDB. Only the claim waits for the missing proxy, and reports it, and a proxy that is no longer
// wanted is deleted.
func TestMediumClaimIsAccepted(t *testing.T) {
	// It uses all processors for five minutes, which other tests need.
	if !selected("MediumClaimIsAccepted") {
		t.Skip("it runs only on request: make test-e2e RUN=TestMediumClaimIsAccepted")
	}
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	claim := decode(t, "testdata/medium.yaml")
	if err := cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: claim.GetNamespace()}}); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	apply(ctx, t, claim)
	proxy := object(maxScaleKind)
	namespace := ""
	eventually(ctx, t, 8*time.Minute, func() error {
		if namespace == "" {
			var err error
			if namespace, err = workloads(ctx, claim); err != nil {
				return err
			}
		}
		return cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "maxscale"}, proxy)
	})
	t.Logf("three members are ready, and the proxy is ordered, after %.0f s", time.Since(started).Seconds())
	t.Run("Certificate", func(t *testing.T) { testListener(ctx, t, namespace) })
	t.Run("Failover", func(t *testing.T) { testFailover(ctx, t, namespace) })
	t.Run("Claim", func(t *testing.T) { testWaiting(ctx, t, claim) })
	t.Run("Unwanted", func(t *testing.T) { testUnwanted(ctx, t, claim, namespace) })
	if err := cluster.Client.Delete(ctx, claim); err != nil {
		t.Error(err)
	}
}

func object(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}

// workloads returns the namespace of a claim's workloads, if there is one.
func workloads(ctx context.Context, claim *unstructured.Unstructured) (string, error) {
	all := &corev1.NamespaceList{}
	if err := cluster.Client.List(ctx, all); err != nil {
		return "", err
	}
	for _, n := range all.Items {
		if strings.HasPrefix(n.Name, claim.GetNamespace()+"-"+claim.GetName()+"-") {
			return n.Name, nil
		}
	}
	return "", errors.New("the claim has no namespace for its workloads")
}

// testListener checks that two proxies are composed, with a certificate that clients verify by MariaDB's CA, with the
// name in Keystone's configuration.
func testListener(ctx context.Context, t *testing.T, namespace string) {
	set := &appsv1.StatefulSet{}
	eventually(ctx, t, 3*time.Minute, func() error {
		return cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "maxscale"}, set)
	})
	if *set.Spec.Replicas != 2 || len(set.Spec.Template.Spec.TopologySpreadConstraints) != 1 {
		t.Errorf("%d proxies, spread by %v", *set.Spec.Replicas, set.Spec.Template.Spec.TopologySpreadConstraints)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(secret(ctx, t, namespace, "mariadb-ca-bundle")["ca.crt"]) {
		t.Fatal("there is no authority of MariaDB")
	}
	for _, of := range []struct{ name, host string }{{"maxscale-listener-cert", "maxscale"}, {"mariadb-server-cert", "mariadb-primary"}} {
		block, _ := pem.Decode(secret(ctx, t, namespace, of.name)["tls.crt"])
		if block == nil {
			t.Fatalf("%s holds no certificate", of.name)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := certificate.Verify(x509.VerifyOptions{Roots: pool, DNSName: of.host + "." + namespace + ".svc"}); err != nil {
			t.Errorf("%s: %v", of.name, err)
		}
	}
}

// testFailover checks that while the proxy is not ready, the database is ready and does not refer to the proxy, and that
// the database's operator switches clients from a lost member to another.
func testFailover(ctx context.Context, t *testing.T, namespace string) {
	db, name := object(mariaDBKind), types.NamespacedName{Namespace: namespace, Name: "mariadb"}
	if err := cluster.WaitCondition(ctx, mariaDBKind, name, "Ready"); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Client.Get(ctx, name, db); err != nil {
		t.Fatal(err)
	}
	if ref, ok, _ := unstructured.NestedMap(db.Object, "spec", "maxScaleRef"); ok {
		t.Errorf("the database names a proxy that is not ready: %v", ref)
	}
	if on, _, _ := unstructured.NestedBool(db.Object, "spec", "tls", "galeraSSTEnabled"); !on {
		t.Error("members copy the database in clear text")
	}
	primary := status(db, "currentPrimary")
	if err := cluster.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: primary}}); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	eventually(ctx, t, 3*time.Minute, func() error {
		if err := cluster.Client.Get(ctx, name, db); err != nil {
			return err
		}
		if status(db, "currentPrimary") == primary {
			return fmt.Errorf("%s still takes the writes", primary)
		}
		return nil
	})
	t.Logf("%s takes the writes after %.0f s", status(db, "currentPrimary"), time.Since(started).Seconds())
}

// testWaiting checks that the claim reports the object that it waits for.
func testWaiting(ctx context.Context, t *testing.T, claim *unstructured.Unstructured) {
	eventually(ctx, t, 5*time.Minute, func() error {
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if requested := fmt.Sprint(claim.Object["status"]); !strings.Contains(requested, "MaxScale maxscale: ") {
			return fmt.Errorf("the claim does not mention the proxy: %s", requested)
		}
		return nil
	})
}

// testUnwanted checks that without the proxy the claim becomes ready, and that the proxy is deleted, although it never
// ran.
func testUnwanted(ctx context.Context, t *testing.T, claim *unstructured.Unstructured, namespace string) {
	change(ctx, t, claim, `{"spec": {"infrastructure": {"mariadb": {"maxScale": {"enabled": false}}}}}`)
	eventually(ctx, t, 3*time.Minute, func() error {
		err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "maxscale"}, object(maxScaleKind))
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the proxy is still there (%w)", err)
	})
	if err := cluster.WaitCondition(ctx, claim.GroupVersionKind(), client.ObjectKeyFromObject(claim), "Ready"); err != nil {
		t.Error(err)
	}
}
