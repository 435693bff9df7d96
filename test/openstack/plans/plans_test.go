//go:build openstack && linux

package plans

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// row is a row of the table of results.
type row struct {
	edit    string
	plan    *plan.Plan
	outcome harness.Outcome
	took    time.Duration
}

// TestPlansPredictEffectOfEdits makes each edit of the table in a real cloud while clients use all services, and compares the plan of the
// edit with the requests that failed and the pods that were replaced.
func TestPlansPredictEffectOfEdits(t *testing.T) {
	claim := harness.Read(t, "plans.yaml")
	edits := harness.Must[[]Edit](t)(Edits())
	cloud := harness.Start(t, claim, nil)
	harness.WaitForRollouts(t, cloud)
	var rows []row
	t.Cleanup(func() { t.Log(table(rows)) })
	for _, e := range edits {
		next := harness.Must[[]byte](t)(e.Apply(claim))
		if !t.Run(e.Name, func(t *testing.T) { rows = append(rows, run(t, cloud, e, next)) }) && !current(cloud, next) {
			t.Fatalf("the edit %q was not made: later ones start from it", e.Name)
		}
		claim = next
	}
}

// run makes an edit, and compares it with its plan.
func run(t *testing.T, cloud *clouds.Cloud, e Edit, claim []byte) row {
	planned := harness.PlanEdit(t, cloud, claim)
	load := Start(requests(t, cloud))
	await(t, cloud, load)
	began := time.Now()
	if err := cloud.Change(claim); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Follow(); err != nil {
		t.Fatal(err)
	}
	harness.WaitForRollouts(t, cloud)
	took := time.Since(began)
	loss, errs := load.Stop()
	for _, err := range errs[:min(len(errs), shown)] {
		t.Log(err)
	}
	return row{e.Name, planned.Plan, planned.Check(t, loss), took}
}

// shown is the number of failures that the log lists for an edit.
const shown = 5

// current reports whether a cloud has a claim.
func current(cloud *clouds.Cloud, claim []byte) bool {
	return string(cloud.Options.Claim) == string(claim)
}

// await waits until every client has got responses.
func await(t *testing.T, cloud *clouds.Cloud, load *Load) {
	t.Helper()
	const responses = 3
	harness.WaitFor(t, cloud.Cluster, "the first requests", func() bool { return load.Least() >= responses })
}

// paths are the paths of requests that read from the database of a service, by the type of the service in the catalog.
var paths = map[string]string{
	"image":     "/v2/images?limit=1",
	"placement": "/resource_providers?name=none",
}

// requests returns requests to each address of each service in the catalog: tokens of Keystone, and reads of the others with one token.
func requests(t *testing.T, cloud *clouds.Cloud) []Request {
	t.Helper()
	c := harness.KeystoneClient(t, cloud, false)
	c.HTTP = client(t, cloud)
	admin := harness.AdminOf(t, c)
	token, err := c.Validate(context.Background(), admin.Token, admin.Token)
	if err != nil {
		t.Fatal(err)
	}
	var out []Request
	for _, service := range token.Catalog {
		for _, end := range service.Endpoints {
			label := fmt.Sprintf("%s of %s", end.Interface, service.Name)
			if service.Type == "identity" {
				keystone := &clouds.Client{URL: end.URL, Admin: c.Admin, HTTP: c.HTTP}
				out = append(out, Request{service.Name, label, func(ctx context.Context) error {
					_, err := keystone.Issue(ctx, keystone.Admin)
					return err
				}})
				continue
			}
			path, known := paths[service.Type]
			if !known {
				t.Fatalf("no request for services of type %s", service.Type)
			}
			url := strings.TrimSuffix(end.URL, "/") + path
			out = append(out, Request{service.Name, label, func(ctx context.Context) error { return get(ctx, c.HTTP, url, admin.Token) }})
		}
	}
	return out
}

// client returns a client that trusts the certificates of internal and public addresses.
func client(t *testing.T, cloud *clouds.Cloud) *http.Client {
	t.Helper()
	data, err := cloud.Operators.Secret(context.Background(), cloud.Namespace, "keystone-tls")
	if err != nil {
		t.Fatal(err)
	}
	pool := cloud.Operators.Public.Pool()
	if !pool.AppendCertsFromPEM(data["ca.crt"]) {
		t.Fatal("the certificate of Keystone has no authority")
	}
	return &http.Client{Timeout: limit, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DialContext: cloud.Cluster.Dial, DisableKeepAlives: true,
	}}
}

// limit is the time after which a request is lost.
const limit = 30 * time.Second

// get reads an address.
func get(ctx context.Context, c *http.Client, url, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("X-Auth-Token", token)
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return &clouds.StatusError{Status: response.StatusCode, Body: string(body)}
	}
	return nil
}

// table returns the results as a table in Markdown.
func table(rows []row) string {
	var out strings.Builder
	out.WriteString("\n| Edit | Verdicts | Lost requests | Restarts | Seconds |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		var losses []string
		for _, v := range r.plan.Verdicts {
			if loss, measured := r.outcome.Loss[v.Subject]; measured {
				losses = append(losses, v.Subject+" "+loss.String())
			}
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %.0f |\n", r.edit, harness.Verdicts(r.plan), strings.Join(losses, "; "),
			strings.Join(r.outcome.Restarted, ", "), r.took.Seconds())
	}
	return out.String()
}
