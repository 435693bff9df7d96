//go:build openstack && linux

package keystone

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

func credentialOf(t testing.TB, c *clouds.Cloud) (*c5c3v1.CredentialRotation, harness.Credential) {
	t.Helper()
	r := &c5c3v1.CredentialRotation{}
	if err := c.Cluster.Client.Get(context.Background(), client.ObjectKey{Namespace: c.Namespace, Name: "keystone-korc"}, r); err != nil {
		t.Fatal(err)
	}
	data, err := c.Operators.Secret(context.Background(), c.Namespace, string(r.Spec.SecretName))
	if err != nil {
		t.Fatal(err)
	}
	return r, harness.Credential{ID: string(data["application_credential_id"]), Secret: string(data["application_credential_secret"])}
}

// testCatalogAccess checks that K-ORC's credential is rotated when the claim requests it. A client that reads the
// clouds.yaml for each login, as K-ORC does, is never rejected; the old credential works until its grace period ends,
// and not afterwards.
func testCatalogAccess(t *testing.T, cloud *clouds.Cloud, c *clouds.Client) {
	const day = 24 * time.Hour
	ctx := context.Background()
	issue := func(is harness.Credential) error {
		_, err := c.Issue(ctx, clouds.ApplicationCredential(is.ID, is.Secret))
		return err
	}
	wait := func(label string, condition func(*c5c3v1.CredentialRotation, harness.Credential) bool) harness.Credential {
		t.Helper()
		var is harness.Credential
		err := cloud.Cluster.Wait(ctx, 3*time.Minute, label, func(context.Context) (bool, error) {
			var r *c5c3v1.CredentialRotation
			r, is = credentialOf(t, cloud)
			return condition(r, is), nil
		})
		if err != nil {
			r, _ := credentialOf(t, cloud)
			t.Fatalf("%v\n%+v", err, r.Status)
		}
		return is
	}
	distributed := func(r *c5c3v1.CredentialRotation) bool {
		return apimeta.IsStatusConditionTrue(r.Status.Conditions, "Distributed")
	}
	// Earlier tests have set the clock forward. A rotation in progress at that time has its grace period from then on,
	// and the next rotation waits for it.
	past := ""
	old := wait("the rotations that were due", func(r *c5c3v1.CredentialRotation, is harness.Credential) bool {
		next, before := r.Status.NextRotation, r.Status.PreviousID
		if !distributed(r) || r.Status.CurrentID != is.ID || next == nil {
			return false
		}
		waits := !next.After(cloud.Operators.Now())
		if waits && before != "" && before != past {
			past = before
			cloud.Operators.Forward(day)
		}
		return !waits
	})
	testRestricted(t, c, old)
	korc := newKORC(cloud)
	t.Cleanup(korc.cancel)
	first := korc.logins(t, 1)

	cloud.Operators.Forward(day)
	fresh := wait("a rotation", func(r *c5c3v1.CredentialRotation, is harness.Credential) bool {
		return is != old && r.Status.CurrentID == is.ID && distributed(r)
	})
	for name, is := range map[string]harness.Credential{"the new one": fresh, "the old one, in its grace": old} {
		if err := issue(is); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	second := korc.logins(t, 3)
	if first == second || second != fresh.ID {
		t.Errorf("K-ORC logs in by %s after %s; the new one is %s", second, first, fresh.ID)
	}

	cloud.Operators.Forward(day)
	wait("the old one to be revoked", func(*c5c3v1.CredentialRotation, harness.Credential) bool {
		status := clouds.StatusOf(issue(old))
		return status == http.StatusUnauthorized || status == http.StatusNotFound
	})
	// It is a day old: another one takes its place, and it has a day of grace.
	if err := issue(fresh); err != nil {
		t.Errorf("the one before the present one: %v", err)
	}
	if errs := korc.stop(); len(errs) > 0 {
		t.Errorf("K-ORC is refused: %v", errs)
	}
	t.Logf("K-ORC has logged in %d times, by %d credentials", korc.count, len(korc.credentials))
}

// testRestricted checks that it is an application credential of the administrator, in the project of K-ORC, and that it
// cannot create another one.
func testRestricted(t *testing.T, c *clouds.Client, is harness.Credential) {
	t.Helper()
	ctx := context.Background()
	a := harness.Login(t, c, clouds.ApplicationCredential(is.ID, is.Secret))
	got, err := c.Validate(ctx, a.Token, a.Token)
	if err != nil {
		t.Fatal(err)
	}
	if got.User.Name != "root" || got.Project.Name != "admin" || fmt.Sprint(got.Methods) != "[application_credential]" {
		t.Errorf("the token is of %s in %s, by %v", got.User.Name, got.Project.Name, got.Methods)
	}
	err = a.Try(http.MethodPost, "/users/"+got.User.ID+"/application_credentials",
		map[string]any{"application_credential": map[string]any{"name": "another"}}, nil)
	if clouds.StatusOf(err) != http.StatusForbidden {
		t.Errorf("it makes another application credential: got %v, want 403", err)
	}
}

// korc logs in repeatedly with the current contents of the clouds.yaml, and lists projects.
type korc struct {
	cloud    *clouds.Cloud
	cancel   context.CancelFunc
	done     chan struct{}
	loggedIn chan string // the credential of each login that a test waits for

	count       int
	credentials map[string]bool
	errs        []error
}

func newKORC(cloud *clouds.Cloud) *korc {
	ctx, cancel := context.WithCancel(context.Background())
	k := &korc{cloud: cloud, cancel: cancel, done: make(chan struct{}), loggedIn: make(chan string), credentials: map[string]bool{}}
	go k.run(ctx)
	return k
}

func (k *korc) run(ctx context.Context) {
	defer close(k.done)
	for ctx.Err() == nil {
		id, err := k.login(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			k.errs = append(k.errs, err)
		default:
			k.count++
			k.credentials[id] = true
			select {
			case k.loggedIn <- id:
			default:
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (k *korc) login(ctx context.Context) (string, error) {
	service, err := k.cloud.Operators.Identity(ctx, k.cloud.Namespace, "keystone-korc-clouds", "korc")
	if err != nil {
		return "", err
	}
	if _, err := projects.List(service, nil).AllPages(ctx); err != nil {
		return "", err
	}
	return credentialIn(ctx, service)
}

// credentialIn returns the application credential of a token.
func credentialIn(ctx context.Context, service *gophercloud.ServiceClient) (string, error) {
	var out struct {
		Token struct {
			ApplicationCredential struct{ ID string } `json:"application_credential"`
		}
	}
	token := service.Token()
	_, err := service.Get(ctx, service.ServiceURL("auth", "tokens"), &out, &gophercloud.RequestOpts{ //nolint:bodyclose // it is read into out
		MoreHeaders: map[string]string{"X-Subject-Token": token}, OkCodes: []int{http.StatusOK},
	})
	return out.Token.ApplicationCredential.ID, err
}

// logins waits for a number of logins, and returns the credential of the last.
func (k *korc) logins(t *testing.T, n int) string {
	t.Helper()
	ctx, cancel := stopwatch.WithTimeout(t.Context(), time.Duration(n)*time.Minute)
	defer cancel()
	id := ""
	for range n {
		select {
		case id = <-k.loggedIn:
		case <-ctx.Done():
			t.Fatal("K-ORC does not log in")
		}
	}
	return id
}

func (k *korc) stop() []error {
	k.cancel()
	<-k.done
	return k.errs
}
