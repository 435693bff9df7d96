//go:build openstack && linux

package keystone

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
)

// testTrustFlush runs the CronJob once.
func testTrustFlush(t *testing.T, c *clouds.Cloud) {
	cron := &batchv1.CronJob{}
	u, err := c.Operators.Find("CronJob.batch", c.Namespace, "keystone-trust-flush")
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, cron); err != nil {
		t.Fatal(err)
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: cron.Name + "-now", Namespace: cron.Namespace}, Spec: cron.Spec.JobTemplate.Spec,
	}
	job.Spec.BackoffLimit = new(int32(0))
	if err := c.Operators.RunJob(context.Background(), job); err != nil {
		t.Error(err)
	}
}

// testCertificate checks that the pods serve a renewed certificate without a restart, and that no request fails.
func testCertificate(t *testing.T, cloud *clouds.Cloud, c *clouds.Client) {
	before := served(t, cloud, c)
	load := NewLoad(context.Background(), c, 1)
	u, err := cloud.Operators.Find("Certificate.cert-manager.io", cloud.Namespace, "keystone-tls")
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Operators.Reconcile(context.Background(), []map[string]any{u.DeepCopy().Object}); err != nil {
		t.Fatal(err)
	}
	err = cloud.Cluster.Wait(context.Background(), 3*time.Minute, "the renewed certificate", func(context.Context) (bool, error) {
		for range 4 { // every pod
			if served(t, cloud, c) == before {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Error(err)
	}
	// The workers restart because of the certificate: requests continue meanwhile.
	expected := load.Issued.Load() + 20
	err = cloud.Cluster.Wait(context.Background(), 3*time.Minute, "tokens after the renewal", func(context.Context) (bool, error) {
		return load.Issued.Load() >= expected, nil
	})
	if err != nil {
		t.Error(err)
	}
	for _, err := range load.Stop() {
		t.Error(err)
	}
	t.Log(load)
}

// served returns the serial number of the certificate that a pod serves.
func served(t *testing.T, cloud *clouds.Cloud, c *clouds.Client) string {
	t.Helper()
	u, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := cloud.Cluster.Dial(context.Background(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	if err := client.Handshake(); err != nil {
		return fmt.Sprint("none: ", err)
	}
	return client.ConnectionState().PeerCertificates[0].SerialNumber.String()
}
